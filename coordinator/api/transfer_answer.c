/* See transfer_answer.h. */
#include "api/transfer_answer.h"

static void answer_with(TransferAnswer *answer, const Problem *problem)
{
    answer->problem = *problem;
    answer->status = error_row(problem->code)->status;
}

/* Pending and posted transfers are shown; a final failure is a problem that names the transfer. */
static void answer_record(TransferAnswer *answer, const TransferRecord *record, bool replayed)
{
    answer->replayed = replayed;
    if (record->state == TRANSFER_REFUSED || record->state == TRANSFER_REVERSED)
    {
        Problem problem = {
            .code = record->refusal != ERROR_NONE ? record->refusal : ERROR_INTERNAL,
            .transfer_id = answer->id,
            .state = transfer_state_name(record->state),
        };
        answer_with(answer, &problem);
        return;
    }
    answer->record = record;
    if (record->state == TRANSFER_PENDING)
        answer->status = 202;
    else
        answer->status = replayed ? 200 : 201;
}

void transfer_answer_make(TransferAnswer *ret_answer, const TransferOutcome *outcome)
{
    TransferAnswer *answer = ret_answer;
    *answer = (TransferAnswer){0};
    uuid_format(outcome->id, answer->id);
    Problem problem = {.code = outcome->code, .detail = outcome->detail, .transfer_id = answer->id};
    switch (outcome->kind)
    {
    case OUTCOME_RECORDED:
        answer_record(answer, outcome->record, outcome->replayed);
        break;
    case OUTCOME_KEY_REUSED:
        problem.code = ERROR_IDEMPOTENCY_KEY_REUSED;
        problem.differing = outcome->differing;
        answer_with(answer, &problem);
        break;
    case OUTCOME_NOT_ACCEPTED:
        problem.transfer_id = NULL;
        answer_with(answer, &problem);
        break;
    case OUTCOME_UNKNOWN:
        answer_with(answer, &problem);
        break;
    }
}
