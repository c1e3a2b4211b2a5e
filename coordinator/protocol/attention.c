/* See attention.h. */
#include "protocol/attention.h"

#include "base/base.h"

#include <stddef.h>
#include <string.h>

typedef struct AttentionRow
{
    const char *word;
    const char *advice;
} AttentionRow;

static const AttentionRow rows[] = {
    {"credit-waits", "The money is in transit and goes on by itself as soon as its shard takes it: "
                     "see last_error, and bring the shard back. Or cancel the transfer."},
    {"refund-refused", "The money is in transit until the debit account can take it back, which is "
                       "tried again and again: make room on that account."},
    {"leg-stuck", "The debit stands; the credit is prepared on its shard and locks its account. "
                  "Give the coordinators' role there what the SQLSTATE says it lacks, or have the "
                  "role that prepared it, or a superuser, finish it: COMMIT PREPARED."},
    {"leg-lost",
     "The debit stands. Its credit was taken away behind the coordinators' back and is "
     "done again by itself, once. Find out who finishes prepared transactions by hand."},
    {"credit-refused",
     "The debit stands, the credit does not and never will under this transfer. "
     "Pay the amount by a new transfer, with a reference to this one, and resolve this one as "
     "posted, which takes the note away."},
};

const char *attention_advice(const char *reason)
{
    size_t length = strcspn(reason, ":");
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        if (strlen(rows[i].word) == length && strncmp(reason, rows[i].word, length) == 0)
            return rows[i].advice;
    }
    return "Look for this transfer's entries on both shards before anything is moved by hand.";
}
