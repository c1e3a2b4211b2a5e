/* See load.h. */
#include "load.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum
{
    CLIENTS = 32,        /* per coordinator */
    ABSENCE_US = 30000,  /* until a coordinator that takes no connection is tried again */
    BACKLOG_US = 100000, /* what could not be sent in time is made up for, up to this */
};

/* A client of a coordinator, and its request. */
typedef struct Place
{
    bool is_used;
    size_t index;
    Errand errand;
} Place;

typedef struct Crowd
{
    pthread_t thread;
    Load *load;
    Client *client;
    int girod;
    int64_t next_us; /* when the next request may go */
    Place places[CLIENTS];
} Crowd;

struct Load
{
    Mixture *mixture;
    const History *history;
    int count;
    atomic_int per_second;
    atomic_bool ended;
    atomic_size_t requests;
    Crowd crowds[CLUSTER_COORDINATORS_MAX];
};

static ClientPace pace(void *context)
{
    Crowd *crowd = context;
    int per_second = atomic_load(&crowd->load->per_second);
    int64_t now_us = history_now_us(crowd->load->history);
    if (atomic_load(&crowd->load->ended))
    {
        return CLIENT_ENDS;
    }
    if (per_second == 0 || now_us < crowd->next_us)
    {
        return CLIENT_WAITS;
    }
    int64_t from_us = crowd->next_us > now_us - BACKLOG_US ? crowd->next_us : now_us - BACKLOG_US;
    crowd->next_us = from_us + (int64_t)1000000 * crowd->load->count / per_second;
    return CLIENT_GOES;
}

static Place *find_place(Crowd *crowd, bool is_used, size_t index)
{
    Place *found = NULL;
    for (size_t i = 0; i < CLIENTS && found == NULL; i++)
    {
        Place *place = &crowd->places[i];
        found = place->is_used == is_used && (!is_used || place->index == index) ? place : NULL;
    }
    ASSERT(found != NULL);
    return found;
}

static void make(void *context, size_t index, Request *ret_request)
{
    Crowd *crowd = context;
    Place *place = find_place(crowd, false, 0);
    place->is_used = true;
    place->index = index;
    mixture_make(crowd->load->mixture, crowd->girod, &place->errand, ret_request);
    atomic_fetch_add(&crowd->load->requests, 1);
}

static void take(void *context, size_t index, const Response *response)
{
    Crowd *crowd = context;
    Place *place = find_place(crowd, true, index);
    mixture_take(crowd->load->mixture, &place->errand, response);
    place->is_used = false;
    if (response->status == 0)
    {
        crowd->next_us = history_now_us(crowd->load->history) + ABSENCE_US;
    }
    Response ended = *response;
    response_done(&ended);
}

static void *run(void *context)
{
    Crowd *crowd = context;
    ClientLoop loop = {.clients = CLIENTS,
                       .total = SIZE_MAX,
                       .make = make,
                       .done = take,
                       .context = crowd,
                       .pace = pace};
    client_run_loop(crowd->client, &loop);
    return NULL;
}

Load *load_start(const Cluster *cluster, Mixture *mixture, const History *history)
{
    Load *load = base_calloc(1, sizeof(*load));
    load->mixture = mixture;
    load->history = history;
    load->count = cluster_coordinator_count(cluster);
    for (int i = 0; i < load->count; i++)
    {
        Crowd *crowd = &load->crowds[i];
        crowd->load = load;
        crowd->girod = i + 1;
        crowd->client = client_new(cluster_url(cluster, i + 1));
        int status = pthread_create(&crowd->thread, NULL, run, crowd);
        ASSERT(status == 0);
    }
    return load;
}

void load_set_pace(Load *load, int per_second)
{
    atomic_store(&load->per_second, per_second);
}

void load_stop(Load *load)
{
    atomic_store(&load->ended, true);
    for (int i = 0; i < load->count; i++)
    {
        pthread_join(load->crowds[i].thread, NULL);
        client_free(load->crowds[i].client);
    }
    free(load);
}

size_t load_requests(const Load *load)
{
    return atomic_load(&load->requests);
}
