/* A ZeroMQ socket in a libuv loop.
 *
 * ZMQ_FD is edge-triggered and only says "look": it wakes the loop; ZMQ_EVENTS is read in a prepare and a check
 * handler; an idle handle keeps the loop awake while events stand; at most LOOM_SOCKET_BURST messages are taken in one
 * turn, so that timers and other sockets get theirs. Messages that cannot leave at once wait in a queue of this socket.
 *
 * Options that are always set: LINGER, IMMEDIATE (nothing queues for a peer that is not there), MAXMSGSIZE,
 * HANDSHAKE_IVL, RECONNECT_IVL and _MAX, heartbeats of the transport (tcp), small high-water marks (flow control is by
 * credits in bytes), ROUTER_MANDATORY.
 *
 * Threads: the loop's. Callbacks may send, and may close the socket.
 */
#ifndef LOOM_PROTO_SOCKET_H
#define LOOM_PROTO_SOCKET_H

#include "common/status.h"
#include "proto/packet.h"
#include <stdbool.h>
#include <uv.h>

typedef struct loom_socket loom_socket;

#define LOOM_SOCKET_BURST 64
/* Messages that wait in the socket's own queue, all peers together: beyond it the peer for which most wait is given up
 * (ROUTER), or the connection made anew (DEALER), in the next turn of the loop; no other loses a message. Values in the
 * queue are references. */
#define LOOM_SOCKET_QUEUE_MESSAGES 65536u
/* One frame on a control socket: programs, plans and object code; and on one that serves blocks, where a single element
 * may be larger than a block. */
#define LOOM_MAX_CONTROL_FRAME ((int64_t)256 << 20)
#define LOOM_MAX_BLOCK_FRAME   ((int64_t)16 << 30)

typedef struct loom_socket_options {
    void *context;     /* ZeroMQ context */
    int type;          /* ZMQ_ROUTER, ZMQ_DEALER */
    int64_t max_frame; /* larger ones end the connection */
    /* A message that passed the scan. The callee owns it. */
    void (*on_message)(void *user, loom_incoming *message);
    /* ROUTER: a message to this peer could not be delivered: it is gone, or does not read. May be NULL. */
    void (*on_unreachable)(void *user, const unsigned char *identity, size_t length);
    /* What broke the protocol (freed by the callee; NULL: logged as a warning). */
    void (*on_broken)(void *user, loom_status *status);
    void *user;
} loom_socket_options;

LOOM_MUST_USE loom_status *loom_socket_create(uv_loop_t *loop, const loom_socket_options *options,
                                              loom_socket **socket);
/* tcp:// is refused unless `insecure`. */
LOOM_MUST_USE loom_status *loom_socket_bind(loom_socket *socket, const char *endpoint, bool insecure);
LOOM_MUST_USE loom_status *loom_socket_connect(loom_socket *socket, const char *endpoint, bool insecure);
/* Takes the packet. ROUTER: to the peer of that identity. */
void loom_socket_send(loom_socket *socket, const unsigned char *identity, size_t length, loom_packet *packet);
/* ROUTER: drops what waits for a peer that is given up. A NULL socket has nothing waiting. */
void loom_socket_forget(loom_socket *socket, const unsigned char *identity, size_t length);
/* Tries to send what is queued, closes the socket with `linger_ms` (100 at least), ends the handles; memory goes when
 * the loop has run their close callbacks. NULL is fine. */
void loom_socket_close(loom_socket *socket, int linger_ms);
/* Ends a ZeroMQ context whose sockets are closed, of a process that ends: what libzmq has not done after two seconds is
 * left to the process's end. NULL is fine. */
void loom_zmq_end(void *context);
size_t loom_socket_queued(const loom_socket *socket); /* 0 for NULL */

/* Whether an endpoint may be used: ipc:// (with a path that fits), inproc://, and tcp:// when insecure. */
LOOM_MUST_USE loom_status *loom_endpoint_check(const char *endpoint, bool insecure);

#endif
