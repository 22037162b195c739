/* Sockets in one loop: delivery, order, large messages, peers that are gone, endpoints. */
#include "common/clock.h"
#include "loom_test.h"
#include "proto/socket.h"
#include "proto/value_codec.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct rig {
    uv_loop_t loop;
    void *zmq;
    char endpoint[64];
    loom_socket *router, *dealer;
    uint64_t received, expected, next;
    bool echo;
    int unreachable, broken;
    unsigned char identity[64];
    size_t identity_length;
    loom_value *value;
    char *big;
} rig;

static loom_packet *beat(uint64_t sequence) {
    Wire__Beat b = WIRE__BEAT__INIT;
    b.sequence = sequence;
    Wire__Message m = WIRE__MESSAGE__INIT;
    m.body_case = WIRE__MESSAGE__BODY_BEAT;
    m.beat = &b;
    return loom_packet_create(&m);
}

static void at_router(void *user, loom_incoming *in) {
    rig *r = user;
    memcpy(r->identity, in->identity, in->identity_length);
    r->identity_length = in->identity_length;
    if (r->echo) {
        loom_socket_send(r->router, in->identity, in->identity_length, beat(in->message->beat->sequence));
    } else {
        LOOM_CHECK_EQ_INT(in->message->beat->sequence, r->next++);
        r->received++;
        for (size_t i = 0; i < in->n_frames; i++) LOOM_CHECK_EQ_INT(zmq_msg_size(&in->frames[i]), 8 << 20);
    }
    loom_incoming_destroy(in);
}

static void at_dealer(void *user, loom_incoming *in) {
    rig *r = user;
    LOOM_CHECK_EQ_INT(in->message->beat->sequence, r->next++);
    r->received++;
    loom_incoming_destroy(in);
}

static void on_unreachable(void *user, const unsigned char *identity, size_t length) {
    (void)identity;
    (void)length;
    ((rig *)user)->unreachable++;
}

static void on_broken(void *user, loom_status *status) {
    ((rig *)user)->broken++;
    loom_status_free(status);
}

static void set_up(rig *r) {
    static int counter;
    memset(r, 0, sizeof *r);
    uv_loop_init(&r->loop);
    r->zmq = zmq_ctx_new();
    snprintf(r->endpoint, sizeof r->endpoint, "ipc:///tmp/loom-socket-%d-%d", (int)getpid(), counter++);
    loom_socket_options o = {.context = r->zmq,
                             .type = ZMQ_ROUTER,
                             .max_frame = 16 << 20,
                             .on_message = at_router,
                             .on_unreachable = on_unreachable,
                             .on_broken = on_broken,
                             .user = r};
    LOOM_OK(loom_socket_create(&r->loop, &o, &r->router));
    LOOM_OK(loom_socket_bind(r->router, r->endpoint, false));
    o.type = ZMQ_DEALER;
    o.on_message = at_dealer;
    o.on_unreachable = NULL;
    LOOM_OK(loom_socket_create(&r->loop, &o, &r->dealer));
    LOOM_OK(loom_socket_connect(r->dealer, r->endpoint, false));
}

static void tear_down(rig *r) {
    loom_socket_close(r->router, 0);
    loom_socket_close(r->dealer, 0);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    LOOM_CHECK_EQ_INT(uv_loop_close(&r->loop), 0);
    zmq_ctx_term(r->zmq);
    unlink(r->endpoint + 6);
}

static void run_until(rig *r, const uint64_t *counter, uint64_t value) {
    double until = loom_seconds() + 30;
    while (*counter < value && loom_seconds() < until) {
        uv_run(&r->loop, UV_RUN_NOWAIT);
        if (*counter < value) usleep(100);
    }
    LOOM_CHECK_EQ_INT(*counter, value);
}

/* The loop must come back by itself whenever something can be done: here nothing else wakes it. */
static void on_timer(uv_timer_t *timer) {
    uv_stop(timer->loop);
}

LOOM_TEST(socket, echoes_in_order_without_outside_help) {
    rig r;
    set_up(&r);
    r.echo = true;
    for (uint64_t i = 0; i < 5000; i++) loom_socket_send(r.dealer, NULL, 0, beat(i));
    uv_timer_t timer;
    uv_timer_init(&r.loop, &timer);
    uv_timer_start(&timer, on_timer, 30000, 0);
    double before = loom_seconds();
    while (r.received < 5000 && loom_seconds() - before < 30) uv_run(&r.loop, UV_RUN_ONCE);
    LOOM_CHECK_EQ_INT(r.received, 5000);
    uv_close((uv_handle_t *)&timer, NULL);
    tear_down(&r);
}

LOOM_TEST(socket, large_columns_pass) {
    rig r;
    set_up(&r);
    int64_t extents[] = {8 << 20};
    LOOM_OK(loom_value_create(1, &r.value));
    LOOM_OK(loom_leaf_init(&r.value->leaves[0], "", LOOM_U8, 1, extents, 1 << 24));
    for (uint64_t i = 0; i < 20; i++) {
        loom_packet *packet = beat(i);
        loom_packet_add_columns(packet, r.value);
        loom_socket_send(r.dealer, NULL, 0, packet);
    }
    run_until(&r, &r.received, 20);
    loom_value_unref(r.value);
    tear_down(&r);
}

LOOM_TEST(socket, a_peer_that_is_not_there_is_told) {
    rig r;
    set_up(&r);
    loom_socket_send(r.router, (const unsigned char *)"nobody", 6, beat(1));
    double until = loom_seconds() + 10;
    while (!r.unreachable && loom_seconds() < until) uv_run(&r.loop, UV_RUN_NOWAIT);
    LOOM_CHECK_EQ_INT(r.unreachable, 1);
    LOOM_CHECK_EQ_INT(loom_socket_queued(r.router), 0);
    tear_down(&r);
}

LOOM_TEST(socket, what_is_not_a_message_is_reported) {
    rig r;
    set_up(&r);
    Wire__Beat b = WIRE__BEAT__INIT;
    Wire__Message m = WIRE__MESSAGE__INIT;
    m.body_case = WIRE__MESSAGE__BODY_BEAT;
    m.beat = &b;
    loom_packet *bad = loom_packet_create(&m);
    ((char *)zmq_msg_data(&bad->frames[0]))[0] = 0x7f;
    loom_socket_send(r.dealer, NULL, 0, bad);
    double until = loom_seconds() + 10;
    while (!r.broken && loom_seconds() < until) uv_run(&r.loop, UV_RUN_NOWAIT);
    LOOM_CHECK_EQ_INT(r.broken, 1);
    loom_socket_send(r.dealer, NULL, 0, beat(0));
    run_until(&r, &r.received, 1); /* and the socket goes on */
    tear_down(&r);
}

/* One peer does not read: it alone is given up, and what others get does not wait behind it. */
LOOM_TEST(socket, a_peer_that_does_not_read_is_given_up_alone) {
    rig r;
    set_up(&r);
    r.echo = true;
    void *stuck = zmq_socket(r.zmq, ZMQ_DEALER);
    int none = 0;
    zmq_setsockopt(stuck, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(stuck, ZMQ_ROUTING_ID, "stuck", 5);
    LOOM_CHECK(zmq_connect(stuck, r.endpoint) == 0);
    loom_packet *hello = beat(0);
    LOOM_CHECK(zmq_msg_send(&hello->frames[0], stuck, 0) >= 0);
    loom_packet_destroy(hello);
    double until = loom_seconds() + 10;
    while (r.identity_length != 5 && loom_seconds() < until) uv_run(&r.loop, UV_RUN_NOWAIT);
    for (uint64_t i = 0; i < 30000; i++) loom_socket_send(r.router, (const unsigned char *)"stuck", 5, beat(i));
    for (uint64_t i = 0; i < 10; i++) loom_socket_send(r.dealer, NULL, 0, beat(i));
    run_until(&r, &r.received, 10);
    LOOM_CHECK_EQ_INT(r.unreachable, 0);
    for (uint64_t i = 0; i < 60000; i++) loom_socket_send(r.router, (const unsigned char *)"stuck", 5, beat(i));
    for (uint64_t i = 10; i < 20; i++) loom_socket_send(r.dealer, NULL, 0, beat(i));
    run_until(&r, &r.received, 20);
    LOOM_CHECK_EQ_INT(r.unreachable, 1);
    LOOM_CHECK_EQ_INT(loom_socket_queued(r.router), 0);
    zmq_close(stuck);
    tear_down(&r);
}

LOOM_TEST(socket, forgets_a_peer) {
    rig r;
    set_up(&r);
    for (int i = 0; i < 10; i++) loom_socket_send(r.router, (const unsigned char *)"gone", 4, beat(1));
    loom_socket_forget(r.router, (const unsigned char *)"gone", 4);
    LOOM_CHECK_EQ_INT(loom_socket_queued(r.router), 0);
    tear_down(&r);
}

/* What is within the sender's check arrives; what is beyond it would not. */
LOOM_TEST(packet, a_header_that_the_receiver_refuses_is_found_by_the_sender) {
    enum {
        MOST = 1 << 17
    };
    static const size_t counts[] = {1, 10000, 40000, MOST};
    Wire__BlockRun *run = malloc(sizeof *run), **runs = malloc(MOST * sizeof *runs);
    wire__block_run__init(run);
    run->n = 1;
    for (size_t i = 0; i < MOST; i++) runs[i] = run;
    for (int k = 0; k < 4; k++) {
        Wire__Epoch epoch = WIRE__EPOCH__INIT;
        Wire__TaskDone done = WIRE__TASK_DONE__INIT;
        done.epoch = &epoch;
        done.n_blocks = counts[k];
        done.blocks = runs;
        Wire__Message m = WIRE__MESSAGE__INIT;
        m.body_case = WIRE__MESSAGE__BODY_TASK_DONE;
        m.task_done = &done;
        loom_packet *packet = loom_packet_create(&m);
        loom_status *sender = loom_packet_check(packet);
        loom_incoming *in = NULL;
        loom_status *receiver = loom_incoming_create(packet->frames, 1, false, &in);
        packet->n = 0; /* taken over */
        LOOM_CHECK_EQ_INT(loom_status_code(sender), k == 3 ? LOOM_E_LIMIT : LOOM_OK);
        LOOM_CHECK_EQ_INT(loom_status_code(receiver), loom_status_code(sender));
        loom_status_free(sender);
        loom_status_free(receiver);
        loom_incoming_destroy(in);
        loom_packet_destroy(packet);
    }
    free(runs);
    free(run);
}

LOOM_TEST(endpoint, rules) {
    LOOM_OK(loom_endpoint_check("ipc:///tmp/x", false));
    LOOM_FAILS(loom_endpoint_check("ipc://", false), LOOM_E_CONFIG);
    LOOM_FAILS(loom_endpoint_check("tcp://127.0.0.1:5000", false), LOOM_E_DENIED);
    LOOM_OK(loom_endpoint_check("tcp://127.0.0.1:5000", true));
    LOOM_FAILS(loom_endpoint_check("udp://x", true), LOOM_E_CONFIG);
    char text[256] = "ipc:///";
    memset(text + 7, 'a', 107);
    LOOM_FAILS(loom_endpoint_check(text, false), LOOM_E_CONFIG);
}

/* ---- peers that die in the middle of a message ---- */

/* Says that it is there and reads nothing. */
_Noreturn static void be_deaf(const char *endpoint, int go) {
    char c;
    if (read(go, &c, 1) != 1) _exit(1);
    void *zmq = zmq_ctx_new(), *dealer = zmq_socket(zmq, ZMQ_DEALER);
    int one = 1;
    zmq_setsockopt(dealer, ZMQ_RCVHWM, &one, sizeof one);
    zmq_connect(dealer, endpoint);
    loom_packet *hello = beat(0);
    zmq_msg_send(&hello->frames[0], dealer, 0);
    for (;;) pause();
}

static void note_peer(void *user, loom_incoming *in) {
    at_router(user, in);
    for (uint64_t i = 0; i < 20; i++) {
        loom_packet *packet = beat(i);
        for (int k = 0; k < 8; k++) loom_packet_add_copy(packet, ((rig *)user)->big, 1 << 18);
        loom_socket_send(((rig *)user)->router, ((rig *)user)->identity, ((rig *)user)->identity_length, packet);
    }
}

/* Closes a socket while its peer dies and a message to it is half sent. */
_Noreturn static void close_on_death(bool death_first) {
    rig r = {.big = calloc(1, 1 << 18)};
    int go[2];
    alarm(20);
    snprintf(r.endpoint, sizeof r.endpoint, "ipc:///tmp/loom-deaf-%d", (int)getpid());
    if (pipe(go)) _exit(1);
    pid_t peer = fork();
    if (peer == 0) be_deaf(r.endpoint, go[0]);
    uv_loop_init(&r.loop);
    r.zmq = zmq_ctx_new();
    loom_socket_options o = {.context = r.zmq,
                             .type = ZMQ_ROUTER,
                             .max_frame = 1 << 20,
                             .on_message = note_peer,
                             .on_unreachable = on_unreachable,
                             .user = &r};
    LOOM_OK(loom_socket_create(&r.loop, &o, &r.router));
    LOOM_OK(loom_socket_bind(r.router, r.endpoint, false));
    if (write(go[1], "x", 1) != 1) _exit(1);
    run_until(&r, &r.received, 1);
    for (int i = 0; i < 20; i++) {
        uv_run(&r.loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    if (death_first) kill(peer, SIGKILL);
    loom_socket_close(r.router, 0);
    kill(peer, SIGKILL);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    loom_zmq_end(r.zmq);
    unlink(r.endpoint + 6);
    _exit(0);
}

LOOM_TEST(socket, a_peer_that_dies_in_the_middle_of_a_message_takes_nobody_along) {
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0) close_on_death(i % 2);
        int status;
        LOOM_CHECK_EQ_INT(waitpid(child, &status, 0), child);
        LOOM_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}
