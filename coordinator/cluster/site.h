/*
 * One database of the description on its way to being the directory or a shard: how it is reached,
 * what it is to become, and what was found there.
 */
#ifndef GIRO_SITE_H
#define GIRO_SITE_H

#include "cluster/config.h"
#include "cluster/fitness.h"
#include "cluster/target.h"

enum
{
    SITE_PASSWORD_MAX = 256,
};

typedef struct Site
{
    const ConfigDatabase *database;
    const ConfigShard *shard; /* NULL: the directory */
    Purpose purpose;
    char role[FITNESS_NAME_MAX]; /* the coordinator's, from its dsn */
    char password[SITE_PASSWORD_MAX];
    Target *owner;       /* connected as the owner; both are open while init runs */
    Target *coordinator; /* connected as a coordinator, from site_enter on */
    char coordinator_name[NAME_MAX_LENGTH + 32];
    Facts facts;
} Site;

/* Fills a zeroed site and connects. Everything given is lent. `shard` is NULL for the directory. */
bool site_open(Site *site, Loop *loop, const ConfigDatabase *database, Error *error) ATTR_MUST_USE;
void site_done(Site *site);

/* Looks at the database and judges whether it is fit. */
bool site_look(Site *site, Error *error) ATTR_MUST_USE;

/* Connects as a coordinator does and checks that its DSN leads to the owner's database. Changes
 * nothing, and needs nothing but the role. */
bool site_enter(Site *site, Loop *loop, Error *error) ATTR_MUST_USE;

/* Does what a coordinator does first with a database that is set up. After site_enter. */
bool site_try_coordinator(const Site *site, Error *error) ATTR_MUST_USE;

#endif
