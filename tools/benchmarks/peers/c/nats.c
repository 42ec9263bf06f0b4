/* How fast is NATS with its C client? `send` and `receive`: core; `store`: JetStream, acked, with a window. */
#include "common.h"
#include <nats/nats.h>
#include <stdatomic.h>
#include <unistd.h>

#define WINDOW 4000 /* messages that may be unacked */
#define PATIENCE 30000 /* ms */

static struct load l;
static struct tally t;
static atomic_long failed;

static void must(natsStatus status, const char *what) {
    if (status != NATS_OK)
        refuse(what, nats_GetLastError(NULL) ? nats_GetLastError(NULL) : natsStatus_GetText(status));
}

static void send_all(natsConnection *c) {
    begin(&l);
    for (long i = 0; i < l.messages; i++)
        must(natsConnection_Publish(c, key_of(&l, i), content_of(&l, i), (int)l.size), "publish");
    must(natsConnection_FlushTimeout(c, PATIENCE), "flush");
    tell_sent(&l);
}

/* A subscription a topic; they are read in the order in which they are sent to. PONG confirms them. */
static void receive_all(natsConnection *c) {
    natsSubscription **subscriptions = calloc(l.topics, sizeof *subscriptions);
    natsMsg *message;
    t = new_tally(&l);
    for (long i = 0; i < l.topics; i++) {
        must(natsConnection_SubscribeSync(&subscriptions[i], c, l.keys[i]), "subscribe");
        must(natsSubscription_SetPendingLimits(subscriptions[i], -1, -1), "limits");
    }
    must(natsConnection_FlushTimeout(c, PATIENCE), "flush");
    ready(&l);
    for (long i = 0, limit = (long)(1e3 * STALL); natsSubscription_NextMsg(&message, subscriptions[i % l.topics], limit) == NATS_OK; i++) {
        take(&l, &t, natsMsg_GetData(message));
        natsMsg_Destroy(message);
        limit = t.count == l.messages ? QUIET : limit;
    }
    tell_came(&l, &t);
}

static void on_failure(jsCtx *js, jsPubAckErr *error, void *u) {
    (void)js, (void)u, failed++;
    fprintf(stderr, "%s\n", error->ErrText);
}

/* The stream is kept in a file. Nobody reads: this is what the acks cost, and no more. */
static void store_all(natsConnection *c) {
    jsCtx *js;
    jsOptions options;
    jsStreamConfig stream;
    jsPubOptions wait;
    char name[32];
    const char *subjects[] = {l.keys[0]};
    jsOptions_Init(&options);
    options.PublishAsync.MaxPending = WINDOW;
    options.PublishAsync.StallWait = PATIENCE; /* as usual 0.2 s, which a busy disk needs for one fsync */
    options.PublishAsync.ErrHandler = on_failure;
    must(natsConnection_JetStream(&js, c, &options), "JetStream");
    jsStreamConfig_Init(&stream);
    snprintf(name, sizeof name, "bench-%d", getpid());
    stream.Name = name, stream.Subjects = subjects, stream.SubjectsLen = 1, stream.Storage = js_FileStorage;
    must(js_AddStream(NULL, js, &stream, NULL, NULL), "stream");
    jsPubOptions_Init(&wait);
    wait.MaxWait = PATIENCE;
    begin(&l);
    for (long i = 0; i < l.messages; i++)
        must(js_PublishAsync(js, l.keys[0], content_of(&l, i), (int)l.size, NULL), "publish");
    must(js_PublishAsyncComplete(js, &wait), "acks");
    if (failed)
        refuse("JetStream", "not all was stored");
    tell_sent(&l);
    must(js_DeleteStream(js, name, NULL, NULL), "delete");
    jsCtx_Destroy(js);
}

int main(int count, char **words) {
    natsConnection *c;
    l = read_load(count, words);
    must(natsConnection_ConnectTo(&c, l.address), l.address);
    if (!strcmp(words[1], "store"))
        store_all(c);
    else
        (l.is_sender ? send_all : receive_all)(c);
    natsConnection_Destroy(c);
    return 0;
}
