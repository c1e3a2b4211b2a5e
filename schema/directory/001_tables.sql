-- The directory: which shards there are, and which shard owns which range of routes. Coordinators
-- cache it and go on with their copy while it is down, since every write is fenced on the shard.
--
-- The ranges of a keyspace form one chain by constraints alone, without a trigger: every lower end
-- is unique, every upper end is unique and is some partition's lower end, and only one range has no
-- upper end. So ranges cannot overlap and the chain has no hole; giro_directory.check_cover() tells
-- whether it also starts at the empty route. An edit (split, merge, move) is one transaction and
-- raises cluster.version.

create schema giro_directory;

-- Which files of this folder have been applied; `girod init` writes it.
create table giro_directory.migrations
(
    number     int primary key,
    name       text not null,
    applied_at timestamptz not null default clock_timestamp()
);

create table giro_directory.cluster
(
    singleton      boolean not null default true,
    name           text not null,
    format_version int not null default 1,
    version        bigint not null default 1, -- rises with every edit of the routing
    constraint cluster_has_one_row primary key (singleton),
    constraint cluster_singleton_is_true check (singleton),
    constraint cluster_name_is_a_name check (name ~ '^[a-z0-9-]{1,40}$')
);

create table giro_directory.shards
(
    name              text collate "C" not null,
    ordinal           int not null, -- the lock order; never changes
    dsn               text not null,
    tags              jsonb not null default '{}',
    system_identifier text not null,
    constraint shards_key primary key (name),
    constraint shards_ordinal_is_unique unique (ordinal),
    constraint shards_system_identifier_is_not_empty check (system_identifier <> ''),
    constraint shards_name_is_a_name check (name ~ '^[a-z0-9-]{1,40}$'),
    constraint shards_ordinal_is_not_negative check (ordinal >= 0),
    constraint shards_tags_are_an_object check (jsonb_typeof(tags) = 'object')
);

create table giro_directory.keyspaces
(
    prefix       text collate "C" not null,
    kind         text not null,
    default_mode text not null default '2pc',
    constraint keyspaces_key primary key (prefix),
    constraint keyspaces_kind_is_known check (kind in ('hash', 'range', 'compound')),
    constraint keyspaces_default_mode_is_known check (default_mode in ('2pc', 'saga')),
    constraint keyspaces_prefix_is_part_of_an_id check (prefix ~ '^[A-Za-z0-9._:@-]{0,96}$')
);

create table giro_directory.partitions
(
    partition int generated always as identity,
    keyspace  text collate "C" not null,
    lo        bytea not null,
    hi        bytea, -- null: no upper end
    shard     text collate "C" not null,
    epoch     bigint not null default 1,
    constraint partitions_key primary key (partition),
    constraint partitions_keyspace_exists
        foreign key (keyspace) references giro_directory.keyspaces (prefix),
    constraint partitions_shard_exists
        foreign key (shard) references giro_directory.shards (name),
    constraint partitions_range_is_not_empty check (lo < hi),
    constraint partitions_epoch_is_positive check (epoch >= 1),
    constraint partitions_lower_ends_differ unique (keyspace, lo),
    constraint partitions_upper_ends_differ
        unique nulls not distinct (keyspace, hi) deferrable initially deferred,
    constraint partitions_upper_end_is_the_next_lower_end
        foreign key (keyspace, hi) references giro_directory.partitions (keyspace, lo)
        deferrable initially deferred
);
