/*
 * What most integration tests share: one cluster for all cases of the program, a client of its
 * first coordinator, and a look at the books after every case.
 *
 *   static int start(void **state)
 *   {
 *       (void)state;
 *       fixture_start(&(ClusterOptions){.shards = 2}, &cluster, &client);
 *       return 0;
 *   }
 *   …
 *       const struct CMUnitTest tests[] = {with_books(a_sentence_that_holds)};
 *       return cmocka_run_group_tests_name("subject", tests, start, fixture_stop);
 */
#ifndef GIRO_TESTS_FIXTURE_H
#define GIRO_TESTS_FIXTURE_H

#include "bank.h"
#include "check.h"
#include "cluster.h"

#define with_books(test) cmocka_unit_test_teardown(test, fixture_check_books)

/* Once per program. Both are the fixture's. */
void fixture_start(const ClusterOptions *options, Cluster **ret_cluster, Client **ret_client);
/* For cmocka. */
int fixture_stop(void **state);
int fixture_check_books(void **state);

/* Arms a failpoint of coordinator 1 for one stroke; ms is the length of a pause. */
void fixture_arm(const char *failpoint, const char *action, int ms);
/* The same of the coordinator that the client speaks to; needs no fixture_start. */
void fixture_arm_at(Client *client, const char *failpoint, const char *action, int ms);

#endif
