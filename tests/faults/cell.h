/*
 * One cell of the matrix: a transfer with accounts and a key of its own, whose coordinator meets
 * the fault at the place; and what has to hold afterwards.
 *
 * Nothing here ends the test: what goes wrong is kept as the cell's trouble, the first one only.
 */
#ifndef GIRO_TESTS_CELL_H
#define GIRO_TESTS_CELL_H

#include "bank.h"
#include "girod.h"
#include "letter.h"
#include "matrix.h"

enum
{
    CELL_BALANCE = 10,    /* of its accounts at first */
    CELL_LETTERS_MAX = 2, /* to the coordinator that meets the fault, and to another one */
};

typedef struct CellAccount
{
    AccountName name;
    int shard;
    bool is_locked;           /* at the last look; see blocked.h */
    int64_t blocked_until_ms; /* after the fault */
} CellAccount;

typedef struct Cell
{
    const CellPlan *plan;
    CellAccount accounts[2]; /* the debit account, the credit account */
    char key[24];
    Payment payment;
    const Cluster *cluster;
    Girod *girod;      /* that meets the fault; lent */
    char instance[32]; /* that the request was sent to first */

    Letter *letters[CELL_LETTERS_MAX];
    size_t letter_count;
    bool struck; /* the fault has happened: else the cell is a hole */
    int64_t struck_at_ms;
    int64_t settled_after_ms; /* from then to the final answer, as far as anybody asked */

    bool has_ended; /* a final answer was heard */
    bool is_posted;
    char refusal[48];
    char id[UUID_TEXT_MAX + 1]; /* of every answer */
    char trouble[600];          /* "" = none */
} Cell;

/* Opens its accounts. */
void cell_open(Cell *cell, const CellPlan *plan, size_t number, Client *client);
/* Arms the coordinator, sends it the transfer and waits until the fault has struck. A pause is this
 * long. */
void cell_strike(Cell *cell, Girod *girod, int pause_ms);
/* The same for an heir: its fault strikes in what another one leaves behind, which gets the
 * transfer and crashes. No other coordinator may be there. */
void cell_strike_heir(Cell *cell, Girod *heir, Girod *other);
/* Sends the same request to another coordinator. */
void cell_send_twin(Cell *cell, const Client *client);
/* Reads the answers to the letters. */
void cell_collect(Cell *cell);
/* Repeats the request at this coordinator until its answer is final, and once more. */
void cell_settle(Cell *cell, Client *client);
/* The checks, see cell_check.c. What goes on by itself is waited for. */
void cell_check(Cell *cell);

void cell_blame(Cell *cell, const char *format, ...) ATTR_PRINTF(2, 3);

/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void);

#endif
