/* How fast is mosquitto with its C client? QoS 0, the client's own network thread. */
#include "common.h"
#include <mosquitto.h>
#include <stdatomic.h>

static struct load l;
static struct tally t;
static atomic_long joined, subscribed, published; /* what the other end has confirmed */
static atomic_long arrived;

static void on_connect(struct mosquitto *m, void *u, int code) { (void)m, (void)u, joined = code ? -1 : 1; }
static void on_publish(struct mosquitto *m, void *u, int id) { (void)m, (void)u, (void)id, published++; }
static void on_subscribe(struct mosquitto *m, void *u, int id, int n, const int *qos) {
    (void)m, (void)u, (void)id, (void)n, (void)qos, subscribed++;
}
static void on_message(struct mosquitto *m, void *u, const struct mosquitto_message *message) {
    (void)m, (void)u;
    take(&l, &t, message->payload);
    arrived++;
}

static void must(int code, const char *what) {
    if (code != MOSQ_ERR_SUCCESS)
        refuse(what, mosquitto_strerror(code));
}

/* Until it reaches `most`; false after a while in which it did not move. */
static bool reached(atomic_long *value, long most) {
    long seen = *value;
    for (double since = now(); *value < most; pause_for(0.0005)) {
        if (*value != seen)
            seen = *value, since = now();
        else if (now() - since > (seen ? STALL : 3 * STALL))
            return false;
    }
    return true;
}

static void send_all(struct mosquitto *m) {
    begin(&l);
    for (long i = 0; i < l.messages; i++)
        must(mosquitto_publish(m, NULL, key_of(&l, i), (int)l.size, content_of(&l, i), 0, false), "publish");
    if (!reached(&published, l.messages))
        refuse("publish", "not all was written");
    tell_sent(&l);
}

static void receive_all(struct mosquitto *m) {
    t = new_tally(&l);
    for (long i = 0; i < l.topics; i++)
        must(mosquitto_subscribe(m, NULL, l.keys[i], 0), "subscribe");
    if (!reached(&subscribed, l.topics))
        refuse("subscribe", "no answer");
    ready(&l);
    reached(&arrived, l.messages);
    pause_for(QUIET / 1e3);
}

static struct mosquitto *connected(void) {
    char host[64];
    int port;
    if (sscanf(l.address, "%63[^:]:%d", host, &port) != 2)
        refuse(l.address, "is not HOST:PORT");
    mosquitto_lib_init();
    struct mosquitto *m = mosquitto_new(NULL, true, NULL);
    mosquitto_connect_callback_set(m, on_connect);
    mosquitto_publish_callback_set(m, on_publish);
    mosquitto_subscribe_callback_set(m, on_subscribe);
    mosquitto_message_callback_set(m, on_message);
    mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1);
    must(mosquitto_connect(m, host, port, 60), "connect");
    must(mosquitto_loop_start(m), "loop");
    if (!reached(&joined, 1))
        refuse(l.address, "no answer");
    return m;
}

int main(int count, char **words) {
    l = read_load(count, words);
    struct mosquitto *m = connected();
    (l.is_sender ? send_all : receive_all)(m);
    mosquitto_disconnect(m);
    mosquitto_loop_stop(m, false);
    if (!l.is_sender)
        tell_came(&l, &t);
    return 0;
}
