/* See cell.h. */
#include "cell.h"

#include "processes.h"
#include "sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    AMOUNT = 3,
    STRIKE_MS = 120000,
    SLICE_MS = 50,
    LETTER_MS = 30000,
    SETTLE_MS = 180000,
    SETTLE_PAUSE_MS = 50,
};

int64_t now_ms(void)
{
    return (int64_t)(base_now_us() / 1000);
}

void cell_blame(Cell *cell, const char *format, ...)
{
    va_list arguments;
    if (cell->trouble[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(cell->trouble, sizeof cell->trouble, format, arguments);
    va_end(arguments);
}

void cell_open(Cell *cell, const CellPlan *plan, size_t number, Client *client)
{
    const Way *way = plan->way;
    cell->plan = plan;
    snprintf(cell->key, sizeof cell->key, "cell-%zu", number);
    CellAccount *debit = &cell->accounts[0];
    CellAccount *credit = &cell->accounts[1];
    debit->shard = plan->home;
    credit->shard = plan->remote;
    bank_open(client, plan->home, CELL_BALANCE, debit->name);
    bank_open(client, plan->remote, way->credit_is_closed ? 0 : CELL_BALANCE, credit->name);
    if (way->credit_is_closed)
        bank_close(client, credit->name);
    cell->payment = (Payment){debit->name, credit->name, AMOUNT, cell->key, way->fields};
    if (way->fields == NULL && strcmp(plan->mode, "saga") == 0)
        cell->payment.fields = "\"mode\":\"saga\"";
}

/* ---- answers --------------------------------------------------------------------------------- */

static void hear_id(Cell *cell, const Response *response)
{
    const char *field = response->status < 300 ? "id" : "transfer_id";
    const char *id = response_string(response, field);
    if (cell->id[0] == '\0')
        snprintf(cell->id, sizeof cell->id, "%s", id);
    else if (id[0] != '\0' && strcmp(id, cell->id) != 0)
        cell_blame(cell, "has two ids, %s and %s", cell->id, id);
}

/* A final answer: the first one stands, all others say the same. */
static void hear_end(Cell *cell, const Response *response)
{
    bool is_posted = response->status < 300;
    const char *refusal = is_posted ? "" : response_string(response, "code");
    const char *wanted = cell->plan->way->refusal != NULL ? cell->plan->way->refusal : "";
    const char *state = response_string(response, "state");
    if (strcmp(state, is_posted ? "posted" : "reversed") != 0 || strcmp(refusal, wanted) != 0)
        cell_blame(cell, "ends as %d %s", response->status, response->body);
    if (cell->has_ended && (cell->is_posted != is_posted || strcmp(cell->refusal, refusal) != 0))
        cell_blame(cell, "was %s %s, and now %d %s", cell->is_posted ? "posted" : "reversed",
                   cell->refusal, response->status, response->body);
    if (!cell->has_ended && cell->struck)
        cell->settled_after_ms = now_ms() - cell->struck_at_ms;
    cell->has_ended = true;
    cell->is_posted = is_posted;
    snprintf(cell->refusal, sizeof cell->refusal, "%s", refusal);
}

/* Is it final? */
static bool hear(Cell *cell, const Response *response)
{
    hear_id(cell, response);
    switch (response->status)
    {
    case 200:
    case 201:
    case 422:
        hear_end(cell, response);
        return true;
    case 0:
    case 202:
    case 429:
    case 503:
        return false;
    default:
        cell_blame(cell, "is answered %d %s", response->status, response->body);
        return false;
    }
}

/* ---- the fault ------------------------------------------------------------------------------- */

/* For transfers of the account; NULL = for everything. */
static void arm(Cell *cell, const Girod *girod, const char *place, const char *strokes,
                const char *account)
{
    char path[128];
    char body[256];
    Response response;
    snprintf(path, sizeof path, "/v1/failpoints/%s", place);
    snprintf(body, sizeof body, "{%s%s%s%s}", strokes, account != NULL ? ",\"account\":\"" : "",
             account != NULL ? account : "", account != NULL ? "\"" : "");
    client_call(girod_client(girod), &(Request){.method = "PUT", .path = path, .body = body},
                &response);
    if (response.status != 200)
        cell_blame(cell, "%s cannot be armed: %d %s", place, response.status, response.body);
    response_done(&response);
}

/* What goes wrong first. */
static void arm_way(Cell *cell, const Girod *girod)
{
    const Way *way = cell->plan->way;
    char strokes[128];
    for (size_t i = 0; i < WAY_ARMS_MAX && way->arms[i].place != NULL; i++)
    {
        snprintf(strokes, sizeof strokes, "\"action\":\"%s\",\"ms\":%d,\"count\":%d",
                 way->arms[i].action, way->arms[i].ms, 1 + way->arms[i].more);
        arm(cell, girod, way->arms[i].place, strokes, cell->payment.debit);
    }
}

static void arm_place(Cell *cell, int pause_ms)
{
    const CellPlan *plan = cell->plan;
    char strokes[128];
    snprintf(strokes, sizeof strokes, "\"action\":\"%s\",\"ms\":%d,\"skip\":%d",
             fault_action(plan->fault), pause_ms, plan->way->skip);
    arm(cell, cell->girod, plan->place, strokes,
        plan->way->is_inherited ? NULL : cell->payment.debit);
}

static Letter *send_to(const Cell *cell, const Client *client)
{
    char *body = bank_body(&cell->payment);
    Letter *letter =
        letter_send(client, &(Request){.path = "/v1/transfers", .body = body, .key = cell->key});
    free(body);
    return letter;
}

static void send_first(Cell *cell, const Girod *girod)
{
    snprintf(cell->instance, sizeof cell->instance, "%s", girod_instance(girod));
    cell->letters[cell->letter_count++] = send_to(cell, girod_client(girod));
}

/* On a slow machine a request may be turned away before it gets to the place. */
static void send_again_if_turned_away(Cell *cell, const Girod *girod)
{
    Response response;
    Letter **letter = &cell->letters[cell->letter_count - 1];
    if (!letter_is_answered(*letter))
        return;
    letter_receive(*letter, LETTER_MS, &response);
    *letter = NULL;
    cell->letter_count--;
    bool is_final = hear(cell, &response);
    if (response.status != 0 && !is_final)
        send_first(cell, girod);
    response_done(&response);
}

static bool has_struck(Girod *girod, const char *place, const char *action)
{
    char words[160];
    snprintf(words, sizeof words, "failpoint=%s strikes: %s", place, action);
    if (strcmp(action, "crash") == 0 && !girod_await_killed(girod, SLICE_MS))
        return false;
    if (strcmp(action, "stop") == 0 && !girod_await_stopped(girod, SLICE_MS))
        return false;
    return girod_await_words(girod, words, SLICE_MS);
}

/* Waits until a failpoint has struck. A letter that is under way was sent to the same girod. */
static bool await_strike(Cell *cell, Girod *girod, const char *place, const char *action)
{
    bool struck = false;
    for (int64_t until = now_ms() + STRIKE_MS; !struck && now_ms() < until;)
    {
        struck = has_struck(girod, place, action);
        if (!struck && cell->letter_count > 0)
            send_again_if_turned_away(cell, girod);
    }
    return struck;
}

static void await_fault(Cell *cell)
{
    const CellPlan *plan = cell->plan;
    cell->struck = await_strike(cell, cell->girod, plan->place, fault_action(plan->fault));
    cell->struck_at_ms = now_ms();
}

/* What a person at the shard would do wrong: the way to `missing`. */
static void take_leg_away(Cell *cell)
{
    const CellPlan *plan = cell->plan;
    const char *dsn = cluster_dsn(cell->cluster, plan->remote);
    if (!await_strike(cell, cell->girod, plan->way->arms[0].place, plan->way->arms[0].action))
        return;
    SqlRows *rows =
        sql_rows(dsn, "select gid from pg_prepared_xacts where gid like 'giro:%%:%s-%%'",
                 girod_instance(cell->girod));
    for (size_t row = 0; row < sql_row_count(rows); row++)
        sql_run(dsn, "rollback prepared '%s'", sql_field(rows, row, 0));
    sql_rows_free(rows);
    girod_signal(cell->girod, SIGCONT);
}

void cell_strike(Cell *cell, Girod *girod, int pause_ms)
{
    cell->girod = girod;
    arm_way(cell, girod);
    arm_place(cell, pause_ms);
    send_first(cell, girod);
    if (cell->plan->way->leg_is_taken_away)
        take_leg_away(cell);
    await_fault(cell);
}

void cell_strike_heir(Cell *cell, Girod *heir, Girod *other)
{
    const Way *way = cell->plan->way;
    cell->girod = heir;
    arm_place(cell, 0);
    arm_way(cell, other);
    send_first(cell, other);
    if (!await_strike(cell, other, way->arms[0].place, way->arms[0].action))
        cell_blame(cell, "nothing is left behind");
    cell_collect(cell);
    await_fault(cell);
}

void cell_send_twin(Cell *cell, const Client *client)
{
    cell->letters[cell->letter_count++] = send_to(cell, client);
}

/* ---- settling ---------------------------------------------------------------------------------
 */

void cell_collect(Cell *cell)
{
    for (size_t i = 0; i < cell->letter_count; i++)
    {
        Response response;
        letter_receive(cell->letters[i], LETTER_MS, &response);
        hear(cell, &response);
        response_done(&response);
    }
    cell->letter_count = 0;
}

static bool pay_once(Cell *cell, Client *client, Response *ret_response)
{
    bank_pay(client, &cell->payment, ret_response);
    return hear(cell, ret_response);
}

static bool pay_until_it_ends(Cell *cell, Client *client)
{
    for (int64_t until = now_ms() + SETTLE_MS; now_ms() < until;)
    {
        Response response;
        bool is_final = pay_once(cell, client, &response);
        if (!is_final && now_ms() + SETTLE_PAUSE_MS >= until)
            cell_blame(cell, "has no final answer: %d %s", response.status, response.body);
        response_done(&response);
        if (is_final)
            return true;
        processes_pause_ms(SETTLE_PAUSE_MS);
    }
    return false;
}

void cell_settle(Cell *cell, Client *client)
{
    Response response;
    char replayed[8] = "";
    if (!pay_until_it_ends(cell, client))
        return;
    if (!pay_once(cell, client, &response) ||
        !response_header(&response, "Idempotent-Replayed", replayed, sizeof replayed))
        cell_blame(cell, "is repeated and answered %d %s", response.status, response.body);
    response_done(&response);
}
