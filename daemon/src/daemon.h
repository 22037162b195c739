/* gridloomd inside: one loop, one thread, and these structures.
 *
 *   daemon --< worker            a registered worker process
 *          --< client            a connected client
 *          --< job --< stage     a stage of the job's graph; a traversal has a ledger
 *                       --< plan     the stage compiled for a class of segments and a target
 *                       --< seat     a worker at the stage (where it collects: at a plan of it): its epoch
 *                       --< piece    a partial result of an output: an object and the blocks inside
 *                  --< task      work lent to a worker: a run of blocks, a delta, a merge, an array stage
 *
 * Invariants:
 *  - A task is in its job's and its worker's list until it is answered, or dropped because the worker is gone or the
 * job ended. An answer to a task that is in no list changes nothing.
 *  - An object that a worker wrote is in the worker's folder until it is accepted: then it is moved out and held (files
 * of a deferred delta: when the answer comes). When an answer has been dealt with, whatever it names in that folder is
 * removed; when a worker is gone, the folder is.
 *  - What a stage needs next is worked out anew from its state by the scheduler (schedule.c), which runs once after
 * every turn of the loop in which something happened; nothing is remembered in callbacks.
 */
#ifndef LOOM_DAEMON_DAEMON_H
#define LOOM_DAEMON_DAEMON_H

#include "blocks.h"
#include "common/arena.h"
#include "common/hash.h"
#include "compile_pool.h"
#include "compiler/plan/compile.h"
#include "compiler/plan/graph.h"
#include "ledger/ledger.h"
#include "ledger/store.h"
#include "list.h"
#include "objects.h"
#include "proto/socket.h"
#include "spills.h"

/* A worker or client says something every second; after five missed beats it is taken for dead. */
#define LOOM_BEAT_SECONDS 1.0
#define LOOM_BEATS_MISSED 5
/* Tasks lent to one worker at once: while one is worked on the blocks of the next arrive. */
#define LOOM_TASKS_AHEAD 2
/* A lease is meant to take this long: short against a job, long against a message. */
#define LOOM_LEASE_SECONDS 1.0
/* Blocks of the first lease, when nothing is known of the speed. */
#define LOOM_FIRST_LEASE_BLOCKS 8
/* A lease of whatever kind whose worker sends beats, but has neither computed nor waited for blocks for so long, goes
 * to another one. How long a task computes is the program's business: nothing ends that but its user. */
#define LOOM_LEASE_DEADLINE 600.0
/* A job ends when so many workers have died at it, each at a task that began after the one before had died, and nothing
 * was finished in between: what kills them is in the job, and would kill every worker that a site starts. */
#define LOOM_JOB_DEATHS 8
/* What a worker has folded is handed over so often at least, so that its death costs no more, but at most a twentieth
 * of the time is spent on it. */
#define LOOM_HANDOVER_SECONDS 60.0
#define LOOM_HANDOVER_SHARE   0.05
/* A traversal that takes no longer is one worker's if what it reads is in that worker's memory. */
#define LOOM_RESIDENT_SECONDS 60.0
/* Of one more worker's hand-over: a byte written, read by another one and merged into a new file. (Seen: 11 turns of a
 * GB from two workers of one host, 2.7 s each.) */
#define LOOM_HANDOVER_BYTE_SECONDS 2.5e-9
/* What is collected grows with the stream: it is handed over when it takes this part of the worker's memory. */
#define LOOM_COLLECTED_SHARE 16
/* Stretches of blocks of one epoch: a delta lists them, and has a part for each where order matters, in one header. */
#define LOOM_EPOCH_STRETCHES 256
/* What a job's end tells beside the result, whatever compiler and workers had to say: about half of a header. Where
 * the result has so many columns that both do not fit, the result goes alone. */
#define LOOM_MAX_REMARKS      256
#define LOOM_MAX_REMARK_BYTES 1024
#define LOOM_MAX_TIMES        1024
#define LOOM_MAX_LABEL        255 /* bytes of a label's end, where its place in the text stands */
#define LOOM_PROGRESS_QUEUED  256
/* Parts of a streamed result that the client has not taken yet. */
#define LOOM_PARTS_AHEAD 16

/* Plans of a stage that are kept from turn to turn of a loop: one for each class of segments and target of a few. Those
 * whose shapes change every turn are of no use later. */
#define LOOM_SPARE_PLANS 16

/* Folders for objects: the preferred one, and the store's. */
#define LOOM_MAX_SPOOLS 2

#define LOOM_NONE_STAGE UINT32_MAX

typedef struct loom_daemon loom_daemon;
typedef struct loom_worker loom_worker;
typedef struct loom_client loom_client;
typedef struct loom_job loom_job;
typedef struct loom_job_stage loom_job_stage;

typedef struct loom_peer_id {
    unsigned char *bytes;
    size_t length;
} loom_peer_id;

struct loom_worker {
    loom_daemon *daemon;
    uint64_t id, instance;
    loom_peer_id peer;
    int64_t pid;
    char *host, *target;
    uint32_t threads;
    uint64_t memory;
    double since, last_seen;
    int64_t blocks;                 /* folded */
    char *folders[LOOM_MAX_SPOOLS]; /* of its objects, until they are accepted; they go with it */
    size_t n_folders;
    loom_list tasks;                /* loom_task: in the order sent */
    loom_list open_jobs, open_runs; /* loom_job, loom_job_plan: what it was told of */
    struct loom_death_watch *watch;
};

struct loom_client {
    loom_daemon *daemon;
    uint64_t id, instance;
    loom_peer_id peer;
    int64_t pid;
    double last_seen;
    struct loom_death_watch *watch;
};

typedef struct loom_job_plan {
    uint64_t run;
    loom_job_stage *stage;
    uint32_t class;
    char *target;
    bool ready, interpret;
    Wire__Interpreted *slow; /* its job's, of this stage; NULL: it is compiled, or warned of */
    char *plan, *object;
    size_t plan_length, object_length;
    loom_hash request; /* of what was asked of the compiler */
    loom_compile_job *compiling;
} loom_job_plan;

typedef struct loom_seat {
    loom_job_plan *plan; /* of its last lease */
    loom_worker *worker; /* NULL once it is gone: kept for its times */
    bool open;           /* `epoch` takes blocks; one that is being handed over is its DELTA task's */
    loom_epoch epoch;
    double opened;      /* when */
    int stretches;      /* of blocks leased in it */
    int outstanding;    /* FOLD tasks */
    uint64_t collected; /* bytes in it that grow with the stream */
    double collects;    /* the most that a block has added to them; 0: not known */
    int64_t next;       /* block behind its last lease */
    double rate;        /* elements a second; 0: not known */
    double compute, handover, wait;
    double last_handover; /* seconds the last one took */
} loom_seat;

typedef struct loom_piece {
    loom_stretch stretch; /* where order matters; else the least block and their number */
    loom_held_object *object;
    bool busy;            /* in a merge */
    loom_spilled spilled; /* SPILL: without object and segments, which come when it becomes a spill */
} loom_piece;

typedef struct loom_task {
    uint64_t id;
    Wire__TaskKind kind;
    loom_job_stage *stage;
    loom_job_plan *plan;
    loom_worker *worker;
    loom_seat *seat; /* FOLD, DELTA */
    loom_epoch epoch;
    loom_stretch stretch; /* FOLD */
    int64_t folded;
    bool begins; /* FOLD: of a chain, with states that were handed over, or as its inputs are */
    double began;
    uint32_t output; /* MERGE, EMPTY */
    loom_piece *a, *b;
    uint64_t signs;    /* of life, as its worker last told */
    double progressed; /* when there was a new one, or a block was folded */
} loom_task;

typedef enum loom_stage_state {
    LOOM_STAGE_PENDING,
    LOOM_STAGE_RUNNING,
    LOOM_STAGE_DONE
} loom_stage_state;

typedef struct loom_stage_output {
    loom_list pieces; /* loom_piece, in order of blocks */
    loom_task *making;
    bool done;
    int64_t next_part; /* STREAM: block that the next part sent begins with */
    int unacknowledged;
    uint64_t bytes; /* of its slot's value */
} loom_stage_output;

/* What an instance of a traversal took; 0: there was none yet. */
typedef struct loom_pace {
    double seconds; /* of a worker, for an element */
    double bytes;   /* that were added up, which each worker hands over */
} loom_pace;

/* A delta, or an array stage's answer, of which values stay with their worker: it is accepted once these have been read
 * (residents.c). */
typedef struct loom_deferred {
    loom_worker *worker; /* NULL: there is none */
    loom_epoch epoch;    /* of the delta, with all its blocks */
    loom_stretch *blocks;
    size_t n_blocks;
} loom_deferred;

struct loom_job_stage {
    loom_job *job;
    uint32_t index;
    const loom_graph_stage *graph;
    loom_stage_state state;
    bool streams_out;    /* has a STREAM output */
    bool ordered;        /* has an output whose pieces merge with neighbours only */
    loom_arena *arena;   /* of `blocks` */
    loom_blocks *blocks; /* traversals */
    loom_ledger *ledger;
    loom_list plans, seats;
    loom_seat *chain; /* of a stage that carries states: where they are; NULL: in pieces, or nowhere yet */
    loom_list spare;  /* plans of earlier turns: the same request need not be compiled again */
    loom_stage_output *outputs;
    loom_pace pace; /* of the turn before */
    loom_deferred deferred;
    const loom_worker *reads_at; /* the worker that was told that inputs may stay with it; NULL: none */
    loom_task *running;          /* ARRAY, WHOLE */
    int64_t fail_block;          /* blocks from here on are not leased any more; n_blocks: no error */
    loom_status *error;          /* of fail_block */
    double array_seconds, handover_seconds;
    double started;
    int64_t releases;
    uint32_t instance; /* number of the stage instance in its job, from 1: the ledger's key */
    bool reads_all;    /* though there is a spill, of which some element gave an error */
};

typedef enum loom_loop_phase {
    LOOM_LOOP_WAITING, /* for what it begins with */
    LOOM_LOOP_TURNING,
    LOOM_LOOP_DONE
} loom_loop_phase;

typedef struct loom_job_loop {
    const loom_graph_loop *graph;
    loom_loop_phase phase;
    int64_t turns;            /* made, in all its lives */
    loom_held_object **state; /* what the current turn began with */
    uint32_t *held;           /* slots from around it that its body reads */
    size_t n_held;
} loom_job_loop;

/* Sums over stage instances that are done. */
typedef struct loom_job_totals {
    double traversal, wait, handover, array;
    int64_t elements, releases;
    uint32_t traversals;
} loom_job_totals;

struct loom_job {
    loom_daemon *daemon;
    uint64_t id;
    char *name, *entry, *serve;
    loom_client *client; /* NULL once it is gone */
    bool debug, count_work, ending;
    uint32_t force; /* LOOM_FORCE_* */
    double submitted;
    double compile_seconds, compile_began; /* in which something compiled for the job; since when something does */
    uint32_t n_compiling;                  /* at once */
    int64_t block;
    loom_arena *arena; /* of the submission and the graph */
    const Wire__Submit *submit;
    char *program, *graph_bytes; /* program: as submitted, then staged */
    size_t program_length, graph_length;
    loom_graph *graph; /* NULL until the GRAPH request was answered */
    loom_compile_job *compiling;
    loom_held_object **slots;           /* by slot of the graph; arguments before */
    uint32_t *slot_readers, *slot_uses; /* by slot: of a value; of the one that is there still to come */
    uint32_t *sole_reader; /* by slot: the one stage that reads each of its values; LOOM_NONE_STAGE: others do */
    const uint32_t *loop_of_stage, *loop_of_loop, *loop_of_slot;
    loom_job_loop *loops;
    uint32_t n_instances;
    loom_job_totals totals;
    size_t n_arguments;
    const Wire__Stream **streams; /* by parameter, or NULL */
    loom_job_stage *stages;
    loom_list tasks;
    loom_list remarks;     /* char * */
    loom_list warnings;    /* char *: those of the remarks that its user is to see unasked */
    loom_list times;       /* Wire__Time in arena, summed by label */
    loom_list interpreted; /* Wire__Interpreted in arena: the remarks of what is, with seconds of workers */
    uint64_t peak;         /* bytes that a run has had out at a time, at most */
    bool end_sent;
    int deaths; /* of workers, one after the other, since anything of it was last finished */
    double last_death;
};

/* Whether streams are written out by batch (spilling.c). */
typedef enum loom_spill_policy {
    LOOM_SPILL_AUTO,   /* where, by what is seen while it goes on, that takes less time than to traverse them again */
    LOOM_SPILL_ALWAYS, /* whatever it takes: where there is something to be saved, and room */
    LOOM_SPILL_NEVER,
} loom_spill_policy;

typedef struct loom_daemon_options {
    const char *listen, *store;
    const char *binaries; /* folder of gridloom-compile */
    const char *cache;    /* of object code; NULL: in the store */
    const char *spool;    /* preferred folder for objects, or NULL: the store's alone */
    double handover;      /* seconds between hand-overs of a worker; 0: LOOM_HANDOVER_SECONDS */
    int64_t parent;       /* embedded: ends with this process; 0: none */
    loom_spill_policy spill;
    const char *const *scratch; /* folders to remove when that process has died without doing so */
    size_t n_scratch;
    bool insecure;
} loom_daemon_options;

struct loom_daemon {
    loom_daemon_options options;
    uint64_t socket_inode; /* of the file it listens on; 0: none */
    uv_loop_t loop;
    uv_timer_t tick;
    uv_check_t scheduler;
    uv_idle_t busy;
    uv_signal_t signals[2];
    struct loom_death_watch *parent;
    void *zmq;
    loom_socket *socket;
    loom_compile_pool *compilers;
    loom_store *store;
    char *cache;
    int store_lock, spool_lock;    /* descriptors; -1: none */
    char *spools[LOOM_MAX_SPOOLS]; /* folders for objects, in order of preference */
    size_t n_spools;
    uint64_t incarnation, next_epoch, next_id, next_job;
    double started, last_tick;
    loom_list workers, clients, jobs;
    size_t turn; /* round robin over jobs */
    bool stopping, changed, orphaned;
    bool made_store, made_spool; /* the folder was not there before */
};

/* daemon.c */
LOOM_MUST_USE loom_status *loom_daemon_run(const loom_daemon_options *options);
void loom_daemon_changed(loom_daemon *d); /* the scheduler will look */
/* Takes the packet. A message that the receiver would refuse is not sent: LOOM_E_LIMIT. Everything whose size depends
 * on a job goes this way, and the job is told. */
LOOM_MUST_USE loom_status *loom_daemon_send_packet(loom_daemon *d, const loom_peer_id *to, loom_packet *packet);
/* The same for messages of fixed size. */
void loom_daemon_send(loom_daemon *d, const loom_peer_id *to, Wire__Message *message);
uint64_t loom_daemon_next_id(loom_daemon *d);

/* peers.c */
void loom_peer_hello(loom_daemon *d, loom_incoming *in);
void loom_peer_beat(loom_daemon *d, loom_incoming *in);
loom_worker *loom_worker_of(loom_daemon *d, const loom_incoming *in);
loom_client *loom_client_of(loom_daemon *d, const loom_incoming *in);
void loom_worker_lost(loom_worker *w, const char *why);
void loom_client_lost(loom_client *c, const char *why);
void loom_peer_unreachable(loom_daemon *d, const unsigned char *identity, size_t length);
void loom_peers_check(loom_daemon *d); /* every tick: who fell silent */

/* watch.c: tells at once when a process of this host ends. NULL where it cannot be watched. */
struct loom_death_watch *loom_death_watch_create(uv_loop_t *loop, int64_t pid, void (*died)(void *user), void *user);
void loom_death_watch_kill(struct loom_death_watch *watch); /* ends the process; NULL is fine */
void loom_death_watch_destroy(struct loom_death_watch *watch);

/* job.c */
void loom_job_submit(loom_daemon *d, loom_client *client, loom_incoming *in);
void loom_job_fail(loom_job *job, loom_status *status); /* takes the status; the job ends */
void loom_job_advance(loom_job *job);                   /* starts stages whose inputs are there, ends the job */
void loom_job_stage_done(loom_job_stage *stage);
void loom_job_drop_tasks(const loom_job_stage *stage); /* what is answered of them changes nothing */
void loom_job_stage_reset(loom_job_stage *stage);      /* for another turn */
void loom_job_stage_unstart(loom_job_stage *stage);    /* an array stage, of which an input is gone, begins again */
bool loom_stage_has_inputs(const loom_job_stage *stage);
void loom_job_send_progress(loom_job *job);
void loom_job_fill_progress(const loom_job *job, Wire__Progress *progress);
void loom_job_remark(loom_job *job, const char *text);
void loom_job_warn(loom_job *job, const char *text); /* a remark that its user is to see unasked */
/* That something is interpreted, as the remark says. NULL: too many are. */
Wire__Interpreted *loom_job_interprets(loom_job *job, const char *remark);
void loom_job_destroy(loom_job *job);
loom_job *loom_job_find(loom_daemon *d, uint64_t id);
void loom_job_end_acknowledged(loom_job *job);

/* loops.c */
void loom_job_prepare_slots(loom_job *job);                                 /* once the graph is there */
void loom_job_slot(loom_job *job, uint32_t slot, loom_held_object *object); /* takes the reference */
/* A reader in the body of `loop` has done with it. */
void loom_job_use_slot(loom_job *job, uint32_t slot, uint32_t loop);
void loom_job_lose_slot(loom_job *job, uint32_t slot);       /* its value is gone and will be made again */
bool loom_job_is_active(const loom_job *job, uint32_t loop); /* in a turn, or no loop */
/* Begins loops and turns, and ends them, as far as values are there; whether there was anything to do. */
bool loom_job_advance_loops(loom_job *job);
bool loom_job_loops_done(const loom_job *job);
void loom_job_free_loops(loom_job *job);

/* plans.c */
loom_job_plan *loom_plan_for(loom_job_stage *stage, uint32_t class,
                             const loom_worker *worker); /* NULL: not ready yet */
void loom_plan_stop(loom_job_plan *plan);                /* what is being compiled of it is not wanted any more */
void loom_plan_close(loom_job_plan *plan);               /* on all workers */
void loom_plan_destroy(loom_job_plan *plan);
/* Tells the worker of job and run, once. */
LOOM_MUST_USE loom_status *loom_worker_open(loom_worker *w, loom_job_plan *plan);
/* Once there is a worker: what it may use decides how groups are batched. */
LOOM_MUST_USE loom_status *loom_job_request_graph(loom_job *job);

/* schedule.c */
void loom_schedule(loom_daemon *d);
loom_task *loom_task_create(loom_job_plan *plan, loom_worker *worker, Wire__TaskKind kind);
void loom_task_drop(loom_task *task); /* from all lists; what it lent is free again */

/* residents.c: values that stay with the worker that made them, for the stage that reads them there. */
/* Not streamed out or collected: as large with all blocks inside as with one. */
bool loom_is_added_up(loom_output_kind kind);
/* Outputs of a DELTA or ARRAY of which the values may stay with its worker: into outputs[n_outputs], their number. */
size_t loom_resident_outputs(const loom_task *task, uint32_t *outputs);
/* Ties the stages that read them to the task's worker. */
void loom_resident_promise(const loom_task *task);
/* What an answer says has stayed, *n values, may have done so, and is the stage's whole result. */
LOOM_MUST_USE loom_status *loom_resident_check(const loom_task *task, const Wire__TaskDone *done, size_t *n);
/* The worker that has an input of the stage in its memory, and alone may run it; NULL: any may. */
const loom_worker *loom_resident_worker(const loom_job_stage *stage);
/* The values are there for who reads them; takes the objects, one for each part. `blocks`: of a delta, or NULL. */
void loom_stage_defer(const loom_task *task, const loom_stretch *blocks, const Wire__TaskDone *done,
                      loom_held_object **objects);
void loom_deferred_settle(loom_job *job);           /* what has been read is accepted */
void loom_deferred_lost(const loom_worker *worker); /* what stayed with it has to be made again */
void loom_deferred_clear(loom_deferred *deferred);

/* spilling.c: stages that spill, and those that read a batch. */
bool loom_stage_spills(const loom_job_stage *stage);
/* Whether the stage has to run at all. An error where there is no number in its slot. */
LOOM_MUST_USE loom_status *loom_spill_is_wanted(const loom_job_stage *stage, bool *wanted);
/* The stage is done without a spill: its readers traverse the stream. */
void loom_spill_give_up(loom_job_stage *stage, const char *why);
/* Gives up where what there is of the spill tells that it costs more than it saves, or takes too much of the disk. */
void loom_spill_judge(loom_job_stage *stage);
void loom_spill_finish(loom_job_stage *stage); /* all blocks are in its pieces: they are the slot's spill */
/* The spill whose batch the stage reads; NULL: it reads its streams. */
const loom_spill *loom_spill_of(const loom_job_stage *stage);
LOOM_MUST_USE loom_status *loom_spill_batch(const loom_job_stage *stage, uint64_t *batch);
/* An element of a batch gave an error: the stage begins anew with all of the stream, so that the least error is named,
 * with the element's place. */
void loom_spill_read_all(loom_job_stage *stage);

/* chains.c: stages that carry states from block to block. */
/* The block that is next, where this worker may fold it. A seat that has lost its states is forgotten. */
bool loom_chain_next(loom_job_stage *stage, const loom_worker *w, int64_t *next);
/* Whether that may be done from this seat, now. */
bool loom_chain_may_lease(loom_job_stage *stage, const loom_seat *seat);
void loom_chain_lease(loom_task *task); /* a FOLD of such a stage: from here on its seat has the states */
/* The states that the task is told, into objects[n_carried]; their number, 0: those of the stage's inputs. */
size_t loom_chain_states(const loom_task *task, Wire__Object *objects);
/* What was made of a state that is not accepted is not either: all epochs of the stage. */
void loom_chain_fence(loom_job_stage *stage);
LOOM_MUST_USE loom_status *loom_chain_check(const loom_job_stage *stage, const Wire__TaskDone *done);
/* A state that was accepted takes the place of the one before; takes the piece. */
LOOM_MUST_USE loom_status *loom_chain_take(loom_job_stage *stage, loom_piece *piece, uint32_t output);

/* tasks.c */
void loom_task_done(loom_daemon *d, loom_worker *w, const Wire__TaskDone *done); /* w NULL: of nobody we know */
void loom_task_progress(loom_worker *w, const Wire__TaskBeat *beat);
void loom_stage_send_parts(loom_job_stage *stage);
void loom_stage_part_acknowledged(loom_job *job, uint64_t first_block);
void loom_stage_set_slot(loom_job_stage *stage, uint32_t output, loom_held_object *object); /* takes the reference */
/* Those of all parts of an answer, but for what is there already; takes the objects, one for each part. */
void loom_stage_set_slots(loom_job_stage *stage, const Wire__TaskDone *done, loom_held_object **objects);
void loom_stage_check_done(loom_job_stage *stage);
void loom_piece_free(loom_piece *piece);
void loom_stage_take_piece(loom_job_stage *stage, uint32_t output); /* the one piece left is the slot's value */
/* The epoch, with all it holds; its worker, unless NULL, is told. */
void loom_stage_fence(loom_job_stage *stage, loom_epoch epoch, const loom_job_plan *plan, loom_worker *worker);

#endif
