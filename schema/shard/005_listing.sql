-- Lists of transfers, newest first, in the total order (created_at, id): participants/
-- transfers_list.sql. New rows go to the end of this index, so that its hot pages are few. What is
-- unfinished is found by the partial indexes that are there already.
create index transfers_listed on giro.transfers (created_at, id);
