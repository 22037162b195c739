/* Who works on what next.
 *
 * For a worker with room, jobs are asked in turn, and a job's running stages in order:
 *   ARRAY, WHOLE   one lease, to a worker that does nothing else;
 *   TRAVERSAL      (of one that carries states the next block, in order: chains.c)
 *                  1. blocks: a contiguous run that goes on where the worker's last one ended if it can. Where partial
 *                     results merge with neighbours only, a newcomer starts in the middle of the longest free run, so
 *                     that each worker's blocks stay one stretch; else at the first free block.
 *                  2. when nothing is free any more: the hand-over of what the worker has folded;
 *                  3. merges of pieces: the smallest pair (of neighbours, where order matters);
 *                  4. when all blocks are in one piece: that is the slot's value.
 * A stage of which a worker has an input in its memory is that worker's; one of which such an input was lost waits.
 * After an error at block e, only blocks below e are leased: the least error is what the job reports.
 */
#include "common/clock.h"
#include "common/log.h"
#include "daemon.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- tasks ---- */

loom_task *loom_task_create(loom_job_plan *plan, loom_worker *worker, Wire__TaskKind kind) {
    loom_task *task = loom_xcalloc(1, sizeof *task);
    task->id = loom_daemon_next_id(worker->daemon);
    task->kind = kind;
    task->plan = plan;
    task->stage = plan->stage;
    task->worker = worker;
    task->began = task->progressed = loom_seconds();
    loom_list_add(&worker->tasks, task);
    loom_list_add(&plan->stage->job->tasks, task);
    return task;
}

/* Blocks are not touched here: fencing or giving back is the ledger's, by epoch. */
void loom_task_drop(loom_task *task) {
    loom_list_remove(&task->worker->tasks, task);
    loom_list_remove(&task->stage->job->tasks, task);
    if (task->a) task->a->busy = false;
    if (task->b) task->b->busy = false;
    if (task->kind == WIRE__TASK_KIND__EMPTY) task->stage->outputs[task->output].making = NULL;
    if (task->stage->running == task) task->stage->running = NULL;
    if (task->kind == WIRE__TASK_KIND__FOLD) task->seat->outstanding--;
    free(task);
}

typedef struct extras {
    loom_blocks *blocks; /* FOLD */
    size_t n_lengths;
    uint64_t *lengths; /* WHOLE */
} extras;

static loom_status *tell_task(const loom_task *task, const extras *more) {
    LOOM_TRY(loom_worker_open(task->worker, task->plan));
    Wire__Epoch epoch = WIRE__EPOCH__INIT;
    epoch.incarnation = task->epoch.incarnation;
    epoch.counter = task->epoch.counter;
    Wire__Task wire = WIRE__TASK__INIT;
    wire.task = task->id;
    wire.job = task->stage->job->id;
    wire.run = task->plan->run;
    wire.kind = task->kind;
    wire.epoch = &epoch;
    wire.block = (uint64_t)task->stage->job->block;
    wire.has_block = true;
    if (task->kind == WIRE__TASK_KIND__FOLD) {
        int64_t first, count;
        loom_blocks_elements(more->blocks, task->stretch, &first, &count);
        wire.has_first_block = wire.has_n_blocks = wire.has_first = wire.has_count = true;
        wire.first_block = (uint64_t)task->stretch.first;
        wire.n_blocks = (uint64_t)task->stretch.n;
        wire.first = (uint64_t)first;
        wire.count = (uint64_t)count;
    }
    size_t room = (size_t)task->stage->graph->n_carried + 2;
    Wire__Object *objects = loom_xcalloc(room, sizeof *objects), **list = loom_xcalloc(room, sizeof *list);
    wire.objects = list;
    if (task->kind == WIRE__TASK_KIND__FOLD) {
        const loom_cut *cut = loom_blocks_cut_of(more->blocks, task->stretch.first);
        if (cut->object) {
            loom_held_object_wire(cut->object, &objects[0]);
            list[wire.n_objects++] = &objects[0];
            wire.has_spilled = true;
            wire.spilled = (uint64_t)cut->row + wire.first - (uint64_t)cut->first;
        }
    }
    const loom_piece *pieces[2] = {task->a, task->b};
    for (int i = 0; i < 2; i++) {
        if (!pieces[i]) continue;
        loom_held_object_wire(pieces[i]->object, &objects[i]);
        list[wire.n_objects++] = &objects[i];
    }
    wire.has_begins = wire.begins = task->begins;
    for (size_t i = 0, n = loom_chain_states(task, objects); i < n; i++) list[wire.n_objects++] = &objects[i];
    wire.has_output = true;
    wire.output = task->output;
    uint32_t *resident = loom_xcalloc((size_t)task->stage->graph->n_outputs + 1, sizeof *resident);
    wire.resident = resident;
    if (task->kind == WIRE__TASK_KIND__DELTA || task->kind == WIRE__TASK_KIND__ARRAY) {
        wire.n_resident = loom_resident_outputs(task, resident);
    }
    if (more) {
        wire.n_lengths = more->n_lengths;
        wire.lengths = more->lengths;
    }
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_TASK;
    message.task = &wire;
    loom_packet *packet = loom_packet_create(&message);
    free(resident);
    free(objects);
    free(list);
    return loom_daemon_send_packet(task->worker->daemon, &task->worker->peer, packet);
}

/* Where that is not possible the job fails, and the task is gone. */
static void send_task(loom_task *task, const extras *more) {
    loom_status *status = tell_task(task, more);
    if (status) loom_job_fail(task->stage->job, status);
}

/* ---- blocks ---- */

/* One for all plans, where their blocks are added up. */
static loom_seat *seat_of(loom_job_plan *plan, loom_worker *w) {
    loom_job_stage *stage = plan->stage;
    bool shared = loom_stage_adds_up(stage->graph);
    for (size_t i = 0; i < stage->seats.n; i++) {
        loom_seat *seat = stage->seats.at[i];
        if (seat->worker == w && (shared || seat->plan == plan)) return seat;
    }
    loom_seat *seat = loom_xcalloc(1, sizeof *seat);
    *seat = (loom_seat){.plan = plan, .worker = w, .next = -1};
    loom_list_add(&stage->seats, seat);
    return seat;
}

static int64_t limit_of(const loom_job_stage *stage) {
    int64_t limit = stage->fail_block;
    for (uint32_t i = 0; stage->streams_out && i < stage->graph->n_outputs; i++) {
        const loom_stage_output *o = &stage->outputs[i];
        if (stage->graph->outputs[i].kind != LOOM_OUT_STREAM) continue;
        /* The result does not run ahead of its reader: neither blocks that wait for earlier ones nor parts sent. */
        int64_t ahead = o->next_part + (o->unacknowledged < LOOM_PARTS_AHEAD ? LOOM_PARTS_AHEAD : 0);
        if (ahead < limit) limit = ahead;
    }
    return limit;
}

/* Where a worker starts that has no stretch to go on with. */
static bool new_place(const loom_job_stage *stage, const loom_worker *w, int64_t limit, loom_stretch *free) {
    if (!stage->ordered || stage->streams_out) return loom_ledger_free_from(stage->ledger, 0, limit, free);
    if (!loom_ledger_longest_free(stage->ledger, limit, free)) return false;
    bool somebody_comes = false; /* to the run's beginning, with what it has folded up to there */
    for (size_t i = 0; i < stage->seats.n; i++) {
        const loom_seat *s = stage->seats.at[i];
        somebody_comes = somebody_comes || (s->worker && s->worker != w && s->next == free->first);
    }
    if (somebody_comes && free->n > 1) {
        int64_t half = free->n / 2;
        *free = (loom_stretch){free->first + half, free->n - half};
    }
    return true;
}

/* The one block that a chain goes on with, and those behind it. */
static bool find_next(loom_job_stage *stage, loom_worker *w, int64_t limit, loom_job_plan **plan, loom_stretch *free) {
    int64_t next;
    if (!loom_chain_next(stage, w, &next) || next >= limit) return false;
    if (loom_ledger_state(stage->ledger, next) != LOOM_BLOCK_FREE) return false;
    if (!loom_ledger_free_from(stage->ledger, next, limit, free)) return false;
    *plan = loom_plan_for(stage, loom_blocks_cut_of(stage->blocks, next)->class, w);
    return *plan && !stage->job->ending;
}

/* Where the worker goes on, and with what: the plan must serve the class of the blocks there, so it is chosen by
 * place. */
static bool find_place(loom_job_stage *stage, loom_worker *w, loom_job_plan **plan, loom_stretch *free) {
    int64_t limit = limit_of(stage);
    if (loom_stage_is_chained(stage->graph)) return find_next(stage, w, limit, plan, free);
    for (size_t i = 0; i < stage->seats.n; i++) {
        loom_seat *s = stage->seats.at[i];
        if (s->worker != w || s->next < 0 || s->next >= limit) continue;
        if (loom_ledger_state(stage->ledger, s->next) != LOOM_BLOCK_FREE) continue;
        if (!loom_ledger_free_from(stage->ledger, s->next, limit, free)) continue;
        *plan = loom_plan_for(stage, loom_blocks_cut_of(stage->blocks, free->first)->class, w);
        if (*plan) return true;
    }
    for (int64_t from = 0; from < limit;) {
        if (from == 0 ? !new_place(stage, w, limit, free) : !loom_ledger_free_from(stage->ledger, from, limit, free)) {
            return false;
        }
        const loom_cut *cut = loom_blocks_cut_of(stage->blocks, free->first);
        *plan = loom_plan_for(stage, cut->class, w);
        if (stage->job->ending) return false;
        if (*plan) return true;
        from = cut->first_block + cut->n_blocks; /* its plan is being compiled: look at the next segment */
    }
    return false;
}

static bool collects(const loom_job_stage *stage) {
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        if (loom_is_collected(stage->graph->outputs[i].kind)) return true;
    }
    return false;
}

/* Bytes that the worker has collected for the stage: of each class of segments by itself. */
static uint64_t collected_by(const loom_job_stage *stage, const loom_worker *w, loom_seat **most) {
    uint64_t bytes = 0, largest = 0;
    for (size_t i = 0; i < stage->seats.n; i++) {
        loom_seat *seat = stage->seats.at[i];
        if (seat->worker != w || !seat->open) continue;
        bytes += seat->collected;
        if (seat->collected <= largest) continue;
        largest = seat->collected;
        *most = seat;
    }
    return bytes;
}

/* Blocks until what is collected is to be handed over: one while it is not known how much that is. */
static int64_t most_collected(const loom_job_stage *stage, const loom_seat *seat) {
    loom_seat *most = NULL;
    if (!seat->worker->memory) return INT64_MAX;
    if (!(seat->collects > 0)) return 1;
    double room =
        (double)seat->worker->memory / LOOM_COLLECTED_SHARE - (double)collected_by(stage, seat->worker, &most);
    double blocks = room / seat->collects;
    return blocks < 1 ? 1 : blocks > 1e15 ? (int64_t)1e15 : (int64_t)blocks;
}

static int64_t lease_size(const loom_job_stage *stage, const loom_seat *seat, const loom_job_plan *plan,
                          loom_stretch free) {
    const loom_daemon *d = stage->job->daemon;
    int64_t n = free.n, workers = (int64_t)d->workers.n;
    if (workers > 1 && !loom_stage_is_chained(stage->graph)) {
        int64_t left = loom_ledger_count(stage->ledger, LOOM_BLOCK_FREE);
        int64_t share = (left + 2 * workers - 1) / (2 * workers);
        if (share < n) n = share;
    }
    int64_t most = plan->interpret ? 1 : LOOM_FIRST_LEASE_BLOCKS;
    if (seat->rate > 0) {
        double blocks = seat->rate * LOOM_LEASE_SECONDS / (double)stage->job->block;
        most = blocks < 1 ? 1 : blocks > 1e15 ? (int64_t)1e15 : (int64_t)blocks;
    }
    if (collects(stage) && most > most_collected(stage, seat)) most = most_collected(stage, seat);
    if (stage->streams_out && most > LOOM_PARTS_AHEAD / 4) most = LOOM_PARTS_AHEAD / 4;
    if (most < n) n = most;
    const loom_cut *cut = loom_blocks_cut_of(stage->blocks, free.first);
    int64_t in_cut = cut->first_block + cut->n_blocks - free.first;
    return n < in_cut ? n : in_cut;
}

static loom_status *open_epoch(loom_job_stage *stage, loom_seat *seat) {
    if (seat->open) return NULL;
    loom_daemon *d = stage->job->daemon;
    seat->epoch = (loom_epoch){d->incarnation, ++d->next_epoch};
    LOOM_TRY(loom_ledger_open(stage->ledger, seat->epoch));
    seat->open = true;
    seat->opened = loom_seconds();
    seat->stretches = 0;
    seat->collected = 0;
    return NULL;
}

/* The epoch goes with the task; blocks leased from now on belong to the next one. */
static void send_delta(loom_seat *seat) {
    loom_task *task = loom_task_create(seat->plan, seat->worker, WIRE__TASK_KIND__DELTA);
    task->seat = seat;
    task->epoch = seat->epoch;
    seat->open = false;
    loom_resident_promise(task);
    send_task(task, NULL);
}

static bool handover_is_due(const loom_seat *seat) {
    double interval = seat->last_handover / LOOM_HANDOVER_SHARE, least = seat->worker->daemon->options.handover;
    if (least <= 0) least = LOOM_HANDOVER_SECONDS;
    if (interval < least) interval = least;
    return seat->open && (loom_seconds() - seat->opened > interval || seat->stretches >= LOOM_EPOCH_STRETCHES);
}

/* Of a worker that has collected much the seat that has most of it; NULL: it is not much. */
static loom_seat *full_seat(const loom_job_stage *stage, const loom_worker *w) {
    loom_seat *most = NULL;
    uint64_t bytes = collected_by(stage, w, &most);
    return w->memory && bytes > w->memory / LOOM_COLLECTED_SHARE ? most : NULL;
}

/* Has folded something that is not handed over yet, or will. */
static bool is_in(const loom_job_stage *stage, const loom_worker *w) {
    for (size_t i = 0; i < stage->seats.n; i++) {
        const loom_seat *seat = stage->seats.at[i];
        if (seat->worker == w && seat->open) return true;
    }
    for (size_t i = 0; i < w->tasks.n; i++) {
        const loom_task *task = w->tasks.at[i];
        bool folds = task->kind == WIRE__TASK_KIND__FOLD || task->kind == WIRE__TASK_KIND__DELTA;
        if (folds && task->stage == stage) return true;
    }
    return false;
}

static bool has_pace(const loom_job_stage *stage) {
    return !stage->streams_out && stage->pace.bytes > 0;
}

/* Each worker of a traversal hands over all that it adds up, a grid of gigabytes maybe, and these are merged; what is
 * with one worker alone may even stay in its memory. So another one comes in where what is left takes so long, at the
 * pace of the turn before, that its help saves more than that. (This turn's pace says little at first: memory of
 * gigabytes is used for the first time.) */
static bool pays_for_one_more(const loom_job_stage *stage, double in) {
    double share = 0; /* of the blocks that is left */
    if (stage->blocks->n_blocks) {
        share = (double)loom_ledger_count(stage->ledger, LOOM_BLOCK_FREE) / (double)stage->blocks->n_blocks;
    }
    double left = share * (double)stage->blocks->n_elements * stage->pace.seconds;
    return left * (1 / in - 1 / (in + 1)) > stage->pace.bytes * LOOM_HANDOVER_BYTE_SECONDS;
}

static bool is_worth_joining(const loom_job_stage *stage, const loom_worker *w) {
    if (!has_pace(stage) || is_in(stage, w)) return true;
    const loom_list *workers = &stage->job->daemon->workers;
    double in = 0;
    for (size_t i = 0; i < workers->n; i++) in += is_in(stage, workers->at[i]);
    return in == 0 || pays_for_one_more(stage, in);
}

/* The stage is this worker's alone: an input is in its memory, or it folds a traversal that others do not join. */
static bool is_tied(const loom_job_stage *stage, const loom_worker *w) {
    if (stage->state != LOOM_STAGE_RUNNING) return false;
    const loom_worker *reader = loom_resident_worker(stage);
    if (reader) return reader == w;
    if (!stage->ledger || !has_pace(stage) || !is_in(stage, w)) return false;
    const loom_list *workers = &stage->job->daemon->workers;
    for (size_t i = 0; i < workers->n; i++) {
        if (workers->at[i] != w && is_in(stage, workers->at[i])) return false;
    }
    return !pays_for_one_more(stage, 1);
}

static bool lease_blocks(loom_job_stage *stage, loom_worker *w) {
    loom_job_plan *plan;
    loom_stretch free;
    if (!is_worth_joining(stage, w)) return false;
    if (!find_place(stage, w, &plan, &free)) return false;
    loom_seat *seat = seat_of(plan, w);
    loom_seat *full = full_seat(stage, w);
    bool chained = loom_stage_is_chained(stage->graph);
    if (chained && !loom_chain_may_lease(stage, seat)) return false;
    if (full || handover_is_due(seat)) {
        send_delta(full ? full : seat);
        return true;
    }
    loom_status *status = open_epoch(stage, seat);
    seat->plan = plan; /* whose run has all that is in the epoch, once this lease is folded */
    free.n = lease_size(stage, seat, plan, free);
    if (!status) status = loom_ledger_lease(stage->ledger, seat->epoch, free);
    if (status) {
        loom_job_fail(stage->job, status);
        return false;
    }
    loom_task *task = loom_task_create(seat->plan, w, WIRE__TASK_KIND__FOLD);
    task->seat = seat;
    task->epoch = seat->epoch;
    task->stretch = free;
    if (chained) loom_chain_lease(task);
    seat->outstanding++;
    if (seat->next != free.first || seat->stretches == 0) seat->stretches++;
    seat->next = free.first + free.n;
    send_task(task, &(extras){.blocks = stage->blocks});
    if (stage->streams_out && !stage->job->ending) send_delta(seat);
    return true;
}

/* ---- hand-over, merges, values of slots ---- */

static bool hand_over(loom_job_stage *stage, loom_worker *w) {
    if (stage->fail_block < stage->blocks->n_blocks) return false; /* the job fails: nothing more is wanted */
    for (size_t i = 0; i < stage->seats.n; i++) {
        loom_seat *seat = stage->seats.at[i];
        if (seat->worker != w || !seat->open || seat->outstanding) continue;
        send_delta(seat);
        return true;
    }
    return false;
}

static bool mergeable(const loom_graph_output *g, const loom_piece *a, const loom_piece *b) {
    if (a->busy || b->busy) return false;
    return !loom_merges_in_order(g->kind, g->order) || a->stretch.first + a->stretch.n == b->stretch.first;
}

/* The cheapest pair. Pieces stand in order of blocks, so where order matters only neighbours in the list can meet. */
static bool find_merge(const loom_job_stage *stage, uint32_t output, loom_piece **left, loom_piece **right) {
    const loom_list *pieces = &stage->outputs[output].pieces;
    const loom_graph_output *g = &stage->graph->outputs[output];
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < pieces->n; i++) {
        for (size_t k = i + 1; k < pieces->n; k++) {
            loom_piece *a = pieces->at[i], *b = pieces->at[k];
            uint64_t bytes = a->object->bytes + b->object->bytes;
            if (!mergeable(g, a, b) || bytes >= best) continue;
            best = bytes;
            *left = a;
            *right = b;
        }
    }
    return best != UINT64_MAX;
}

/* A plan of whatever class that is there; NULL: none. */
static loom_job_plan *ready_plan(const loom_job_stage *stage, const loom_worker *w) {
    for (size_t i = 0; i < stage->plans.n; i++) {
        loom_job_plan *plan = stage->plans.at[i];
        if (plan->ready && strcmp(plan->target, w->target) == 0) return plan;
    }
    return NULL;
}

/* Any class's plan can merge and tell what is empty: shapes of accumulators do not depend on the segment. */
static loom_job_plan *any_plan(loom_job_stage *stage, loom_worker *w) {
    loom_job_plan *plan = ready_plan(stage, w);
    return plan ? plan : loom_plan_for(stage, 0, w);
}

static bool merge(loom_job_stage *stage, loom_worker *w) {
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        loom_piece *a, *b;
        if (!loom_is_merged(stage->graph->outputs[i].kind) || !find_merge(stage, i, &a, &b)) continue;
        loom_job_plan *plan = any_plan(stage, w);
        if (!plan) return false;
        loom_task *task = loom_task_create(plan, w, WIRE__TASK_KIND__MERGE);
        task->output = i;
        task->a = a;
        task->b = b;
        a->busy = b->busy = true;
        send_task(task, NULL);
        return true;
    }
    return false;
}

/* One piece is the slot's value; where there was no block a worker says what the output of none is. */
static bool finish(loom_job_stage *stage, loom_worker *w) {
    if (!loom_ledger_complete(stage->ledger)) return false;
    if (loom_stage_spills(stage)) {
        loom_spill_finish(stage);
        return true;
    }
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        loom_stage_output *o = &stage->outputs[i];
        if (stage->graph->outputs[i].kind == LOOM_OUT_STREAM && stage->blocks->n_blocks) continue;
        if (o->done || o->making || o->pieces.n > 1) continue;
        if (o->pieces.n) {
            loom_stage_take_piece(stage, i);
            return true;
        }
        loom_job_plan *plan = any_plan(stage, w);
        if (!plan) return false;
        loom_task *task = loom_task_create(plan, w, WIRE__TASK_KIND__EMPTY);
        task->output = i;
        o->making = task;
        send_task(task, NULL);
        return true;
    }
    return false;
}

/* ---- array stages and whole programs ---- */

/* A stage that one worker runs in one go, and none does or has done. */
static bool is_unlent(const loom_job_stage *stage) {
    return stage->state == LOOM_STAGE_RUNNING && stage->graph->kind != LOOM_STAGE_TRAVERSAL && !stage->running &&
           !stage->deferred.worker;
}

static bool run_array(loom_job_stage *stage, loom_worker *w) {
    if (!is_unlent(stage)) return false;
    loom_job_plan *plan = loom_plan_for(stage, 0, w); /* compiled while the worker is still busy */
    if (!plan || w->tasks.n) return false;
    bool whole = stage->graph->kind == LOOM_STAGE_WHOLE;
    loom_task *task = loom_task_create(plan, w, whole ? WIRE__TASK_KIND__WHOLE : WIRE__TASK_KIND__ARRAY);
    stage->running = task;
    loom_resident_promise(task);
    extras more = {.n_lengths = stage->graph->n_streams};
    more.lengths = loom_xcalloc(more.n_lengths + 1, sizeof *more.lengths);
    for (uint32_t i = 0; i < stage->graph->n_streams; i++) {
        more.lengths[i] = stage->job->streams[stage->graph->streams[i]]->n_elements;
    }
    send_task(task, &more);
    free(more.lengths);
    return true;
}

/* Partial results take room in the spool: where they pile up, merging comes before more blocks. */
static bool is_crowded(const loom_job_stage *stage) {
    size_t most = 2 * stage->job->daemon->workers.n + 2;
    for (uint32_t i = 0; i < stage->graph->n_outputs; i++) {
        loom_piece *a, *b;
        if (!loom_is_merged(stage->graph->outputs[i].kind) || stage->outputs[i].pieces.n <= most) continue;
        if (find_merge(stage, i, &a, &b)) return true;
    }
    return false;
}

static bool give_work(loom_job_stage *stage, loom_worker *w) {
    if (stage->state != LOOM_STAGE_RUNNING || !loom_stage_has_inputs(stage)) return false;
    const loom_worker *reader = loom_resident_worker(stage);
    if (reader && reader != w) return false;
    if (stage->graph->kind != LOOM_STAGE_TRAVERSAL) return run_array(stage, w);
    if (is_crowded(stage)) return w->tasks.n == 0 && merge(stage, w);
    if (lease_blocks(stage, w)) return true;
    if (stage->job->ending) return false;
    bool leaves = stage->streams_out || loom_stage_is_chained(stage->graph);
    bool waits_for_plan = loom_ledger_count(stage->ledger, LOOM_BLOCK_FREE) > 0 && !leaves;
    if (!waits_for_plan && hand_over(stage, w)) return true;
    return w->tasks.n == 0 && (merge(stage, w) || finish(stage, w));
}

/* An error stands, and nothing below it is left to be done: it is the least. */
static void settle_errors(loom_job *job) {
    for (uint32_t i = 0; job->graph && i < job->graph->n_stages && !job->ending; i++) {
        loom_job_stage *stage = &job->stages[i];
        if (!stage->error) continue;
        bool below = false;
        loom_ledger_run run;
        for (size_t b = 0; !below && loom_ledger_run_at(stage->ledger, b, &run); b++) {
            if (run.stretch.first >= stage->fail_block) break;
            below = run.state == LOOM_BLOCK_FREE || run.state == LOOM_BLOCK_LEASED;
        }
        if (below) continue;
        loom_status *error = stage->error;
        stage->error = NULL;
        loom_job_fail(job, error);
    }
}

/* Whether an array stage could begin on this worker if it had nothing else to do. */
static bool array_waits(const loom_daemon *d, const loom_worker *w) {
    for (size_t i = 0; i < d->jobs.n; i++) {
        const loom_job *job = d->jobs.at[i];
        for (uint32_t s = 0; job->graph && !job->ending && s < job->graph->n_stages; s++) {
            const loom_job_stage *stage = &job->stages[s];
            if (!is_unlent(stage) || !ready_plan(stage, w)) continue;
            const loom_worker *reader = loom_resident_worker(stage);
            if (!reader || reader == w) return true;
        }
    }
    return false;
}

static bool has_task_of(const loom_worker *w, const loom_job_stage *stage) {
    for (size_t i = 0; i < w->tasks.n; i++) {
        if (((const loom_task *)w->tasks.at[i])->stage == stage) return true;
    }
    return false;
}

/* Stages that this worker alone runs come first, with one task: jobs' turns are shared by all workers, and those of
 * others could pass this one over for ever. But a traversal has so many that it does not come before array stages. */
static bool give_tied(loom_daemon *d, loom_worker *w) {
    for (size_t i = 0; i < d->jobs.n; i++) {
        loom_job *job = d->jobs.at[i];
        for (uint32_t s = 0; job->graph && !job->ending && s < job->graph->n_stages; s++) {
            loom_job_stage *stage = &job->stages[s];
            if (!is_tied(stage, w) || has_task_of(w, stage)) continue;
            if (stage->ledger && array_waits(d, w)) continue;
            if (give_work(stage, w)) return true;
        }
    }
    return false;
}

static bool offer(loom_daemon *d, loom_worker *w) {
    if (give_tied(d, w)) return true;
    for (size_t i = 0; i < d->jobs.n; i++) {
        loom_job *job = d->jobs.at[(d->turn + i) % d->jobs.n];
        for (uint32_t s = 0; job->graph && !job->ending && s < job->graph->n_stages; s++) {
            if (!give_work(&job->stages[s], w)) continue;
            d->turn = (d->turn + i + 1) % d->jobs.n;
            return true;
        }
    }
    return false;
}

void loom_schedule(loom_daemon *d) {
    for (size_t i = d->jobs.n; i > 0; i--) {
        loom_job *job = d->jobs.at[i - 1];
        if (!job->client) {
            loom_job_destroy(job); /* nobody waits for it */
            continue;
        }
        settle_errors(job);
        if (job->graph || job->compiling || job->ending || !d->workers.n) continue;
        loom_status *status = loom_job_request_graph(job);
        if (status) loom_job_fail(job, status);
    }
    /* Those with nothing to do first. Blocks of other jobs ahead of time would never let an array stage begin. */
    for (size_t room = 0; room < LOOM_TASKS_AHEAD; room++) {
        bool given = true;
        while (given) {
            given = false;
            for (size_t i = 0; i < d->workers.n; i++) {
                loom_worker *w = d->workers.at[i];
                if (w->tasks.n != room || (room > 0 && array_waits(d, w))) continue;
                given = offer(d, w) || given;
            }
        }
    }
}
