-- Says once and for all which shard of which cluster this database is. GR010 if it is another one.
--
-- Called by:  the owner, from `girod init`.
-- Idempotent: the first call decides, the same call again does nothing.
-- Locks:      the single row of shard.
create or replace function giro.setup_shard(p_cluster text, p_name text, p_ordinal int)
returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
declare
    v_shard giro.shard;
begin
    perform giro.require_read_committed();

    insert into shard (cluster, name, ordinal)
    values (p_cluster, p_name, p_ordinal)
    on conflict (singleton) do nothing;

    select * into strict v_shard from shard;
    if (v_shard.cluster, v_shard.name, v_shard.ordinal)
       is distinct from (p_cluster, p_name, p_ordinal) then
        raise exception using
            errcode = 'GR010',
            message = format('this database is shard %s (ordinal %s) of cluster %s, '
                             'not shard %s (ordinal %s) of cluster %s',
                             v_shard.name, v_shard.ordinal, v_shard.cluster,
                             p_name, p_ordinal, p_cluster);
    end if;
end
$$;

revoke execute on function giro.setup_shard from public;
