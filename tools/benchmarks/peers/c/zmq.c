/* How fast is libzmq alone? `proxy`: XSUB and XPUB in C; `send` and `receive`: PUB and SUB, a message a send.
 *
 * A message is one frame: topic, 0, content. Nothing is dropped: no socket has a limit. ADDRESS: tcp://HOST:PORT,tcp://HOST:PORT, for those who send
 * and for those who receive.
 */
#include "common.h"
#include <zmq.h>

static struct load l;
static char inward[LONGEST], outward[LONGEST];

static void must(int result, const char *what) {
    if (result < 0)
        refuse(what, zmq_strerror(zmq_errno()));
}

static void *opened(void *context, int type) {
    int none = 0;
    void *s = zmq_socket(context, type);
    must(s ? 0 : -1, "socket");
    must(zmq_setsockopt(s, ZMQ_SNDHWM, &none, sizeof none), "SNDHWM");
    must(zmq_setsockopt(s, ZMQ_RCVHWM, &none, sizeof none), "RCVHWM");
    return s;
}

static void *joined(void *context, int type, const char *address) {
    void *s = opened(context, type);
    must(zmq_connect(s, address), address);
    return s;
}

static int proxy(void *context) {
    void *in = opened(context, ZMQ_XSUB), *out = opened(context, ZMQ_XPUB);
    must(zmq_bind(in, inward), inward);
    must(zmq_bind(out, outward), outward);
    return zmq_proxy(in, out, NULL);
}

/* An XPUB is a PUB that hears of subscriptions: it begins when it has heard of this one. */
static void send_all(void *context) {
    char key[LONGEST];
    void *s = joined(context, ZMQ_XPUB, inward);
    for (int got = 0; got < 1 || strncmp(key + 1, l.root, strlen(l.root)); key[got] = 0)
        must(got = zmq_recv(s, key, LONGEST - 1, 0), "subscriptions");
    pause_for(l.topics > 1 ? QUIET / 1e3 : 0); /* the other topics are told in one go */
    char *frame = malloc(LONGEST + l.size);
    begin(&l);
    for (long i = 0; i < l.messages; i++) {
        const char *content = content_of(&l, i);
        char *behind = stpcpy(frame, key_of(&l, i)) + 1;
        memcpy(behind, content, l.size);
        must(zmq_send(s, frame, behind - frame + l.size, 0), "send");
    }
    tell_sent(&l);
    zmq_close(s);
}

/* Subscriptions are handled in their order: when a message comes for the last one, all hold. */
static void confirm(void *context, void *s) {
    char key[LONGEST];
    snprintf(key, LONGEST, "ready %s", l.ready);
    must(zmq_setsockopt(s, ZMQ_SUBSCRIBE, key, strlen(key)), "subscribe");
    void *probe = joined(context, ZMQ_PUB, inward);
    zmq_pollitem_t look = {s, 0, ZMQ_POLLIN, 0};
    do
        must(zmq_send(probe, key, strlen(key), 0), "probe");
    while (zmq_poll(&look, 1, 10) == 0);
    must(zmq_setsockopt(s, ZMQ_UNSUBSCRIBE, key, strlen(key)), "unsubscribe");
    zmq_close(probe);
}

static void receive_all(void *context) {
    int stall = (int)(1e3 * STALL), quiet = QUIET;
    char *frame = malloc(LONGEST + l.size);
    void *s = joined(context, ZMQ_SUB, outward);
    struct tally t = new_tally(&l);
    for (long i = 0; i < l.topics; i++) /* with its closing 0: no topic is the beginning of another */
        must(zmq_setsockopt(s, ZMQ_SUBSCRIBE, l.keys[i], strlen(l.keys[i]) + 1), "subscribe");
    confirm(context, s);
    ready(&l);
    must(zmq_setsockopt(s, ZMQ_RCVTIMEO, &stall, sizeof stall), "RCVTIMEO");
    while (zmq_recv(s, frame, LONGEST + l.size, 0) >= 0) {
        if (!strncmp(frame, "ready ", 6))
            continue;
        take(&l, &t, frame + strlen(frame) + 1);
        if (t.count == l.messages)
            must(zmq_setsockopt(s, ZMQ_RCVTIMEO, &quiet, sizeof quiet), "RCVTIMEO");
    }
    tell_came(&l, &t);
    zmq_close(s);
}

int main(int count, char **words) {
    void *context = zmq_ctx_new();
    if (count < 3 || sscanf(words[2], "%127[^,],%127s", inward, outward) != 2)
        refuse("arguments", "proxy|send|receive ADDRESS,ADDRESS ...");
    if (!strcmp(words[1], "proxy"))
        return proxy(context);
    l = read_load(count, words);
    (l.is_sender ? send_all : receive_all)(context);
    zmq_ctx_term(context);
    return 0;
}
