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
    Target *owner; /* the owner's connection; open while init runs */
    Facts facts;
} Site;

/* Fills a zeroed site and connects. Everything given is lent. `shard` is NULL for the directory. */
bool site_open(Site *site, Loop *loop, const ConfigDatabase *database, Error *error) ATTR_MUST_USE;
void site_done(Site *site);

/* Looks at the database and judges whether it is fit. */
bool site_look(Site *site, Error *error) ATTR_MUST_USE;

/* Connects as a coordinator does and checks that its DSN leads to the same place. */
bool site_try_coordinator(const Site *site, Loop *loop, Error *error) ATTR_MUST_USE;

#endif
