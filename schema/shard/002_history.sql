-- Lost history: a shard that is found to have forgotten what it acknowledged is fenced off, here,
-- so that no coordinator writes or asks for a verdict, until an operator readmits it under a higher
-- epoch (participants/fence_off.sql, readmit.sql).

alter table giro.shard
    add column fenced    text, -- why it is fenced off; null: it is not
    add column fenced_at timestamptz,
    add constraint shard_fence_says_why_and_when
        check ((fenced is null) = (fenced_at is null) and fenced <> '');

-- Both are loaded anew with more parameters or columns.
drop function if exists giro.session(int, int, int);
drop function if exists giro.identity();
