/* How fast are work queues of NATS JetStream with its C client? Its server acks before fsync.
 *
 * PROGRAM put|take ADDRESS NAME MESSAGES SIZE WINDOW PRODUCERS CONSUMERS PART
 *
 * Consumers are a queue group of one durable consumer, to which is pushed; acks are sent and not confirmed. Who takes
 * goes on until SIGTERM; how far it is stands in NAME-PART.count meanwhile.
 */
#include "common.h"
#include <fcntl.h>
#include <nats/nats.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATIENCE 120000 /* ms */
#define GROUP "workers"

static struct {
    const char *address, *name;
    long messages, size, window, producers, consumers, part;
} jobs;
static atomic_long failed;
static volatile sig_atomic_t over;

static void must(natsStatus status, const char *what) {
    if (status != NATS_OK)
        refuse(what, nats_GetLastError(NULL) ? nats_GetLastError(NULL) : natsStatus_GetText(status));
}

static void on_failure(jsCtx *js, jsPubAckErr *error, void *u) {
    (void)js, (void)u, failed++;
    fprintf(stderr, "%s\n", error->ErrText);
}

static void on_end(int number) { over = number; }

static jsCtx *opened(natsConnection *c) {
    jsCtx *js;
    jsOptions options;
    jsStreamConfig stream;
    jsOptions_Init(&options);
    options.Wait = PATIENCE;
    options.PublishAsync.MaxPending = jobs.window;
    options.PublishAsync.StallWait = PATIENCE;
    options.PublishAsync.ErrHandler = on_failure;
    must(natsConnection_JetStream(&js, c, &options), "JetStream");
    jsStreamConfig_Init(&stream);
    stream.Name = jobs.name, stream.Subjects = &jobs.name, stream.SubjectsLen = 1;
    stream.Storage = js_FileStorage, stream.Retention = js_WorkQueuePolicy;
    must(js_AddStream(NULL, js, &stream, NULL, NULL), "stream");
    return js;
}

static void put_all(jsCtx *js) {
    char *content = memset(malloc(jobs.size), '.', jobs.size);
    jsPubOptions wait;
    jsPubOptions_Init(&wait);
    wait.MaxWait = PATIENCE;
    double began = now(), cpu = used();
    for (uint64_t i = jobs.part; i < (uint64_t)jobs.messages; i += jobs.producers) {
        memcpy(content, &i, sizeof i);
        if (jobs.window == 1)
            must(js_Publish(NULL, js, jobs.name, content, (int)jobs.size, NULL, NULL), "publish");
        else
            must(js_PublishAsync(js, jobs.name, content, (int)jobs.size, NULL), "publish");
    }
    must(js_PublishAsyncComplete(js, &wait), "acks");
    if (failed)
        refuse("JetStream", "not all was stored");
    printf("{\"began\": %.9f, \"answered\": %.9f, \"cpu\": %.6f}\n", began, now(), used() - cpu);
}

static FILE *opened_file(const char *kind) {
    char name[256];
    snprintf(name, sizeof name, "%s-%ld.%s", jobs.name, jobs.part, kind);
    FILE *file = fopen(name, "w+b");
    if (!file)
        refuse(name, "cannot be written");
    return file;
}

static void take_all(jsCtx *js) {
    jsSubOptions options;
    natsSubscription *from;
    natsMsg *message;
    FILE *numbers = opened_file("numbers"), *again = opened_file("again"), *count = opened_file("count");
    uint64_t *acked = NULL;
    double first = 0, last = 0, cpu = used();
    if (!ftruncate(fileno(count), sizeof *acked))
        acked = mmap(NULL, sizeof *acked, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(count), 0);
    if (!acked || acked == MAP_FAILED)
        refuse("count", "cannot be mapped");
    signal(SIGTERM, on_end);
    jsSubOptions_Init(&options);
    options.ManualAck = true, options.Queue = GROUP;
    options.Config.Durable = GROUP, options.Config.AckPolicy = js_AckExplicit;
    options.Config.MaxAckPending = jobs.window * jobs.consumers, options.Config.AckWait = 1000000L * PATIENCE;
    must(js_SubscribeSync(&from, js, jobs.name, NULL, &options, NULL), "subscribe");
    must(natsSubscription_SetPendingLimits(from, -1, -1), "limits");
    fclose(opened_file("ready"));
    while (!over) {
        jsMsgMetaData *known;
        if (natsSubscription_NextMsg(&message, from, 100) != NATS_OK)
            continue;
        first = first ? first : now();
        fwrite(natsMsg_GetData(message), sizeof *acked, 1, numbers);
        must(natsMsg_GetMetaData(&known, message), "metadata");
        if (known->NumDelivered > 1)
            fwrite(natsMsg_GetData(message), sizeof *acked, 1, again);
        jsMsgMetaData_Destroy(known);
        must(natsMsg_Ack(message, NULL), "ack");
        natsMsg_Destroy(message);
        last = now();
        ++*acked;
    }
    fclose(numbers), fclose(again);
    printf("{\"first\": %.9f, \"last\": %.9f, \"cpu\": %.6f}\n", first, last, used() - cpu);
}

int main(int count, char **words) {
    natsConnection *c;
    if (count != 10)
        refuse("arguments", "put|take ADDRESS NAME MESSAGES SIZE WINDOW PRODUCERS CONSUMERS PART");
    jobs.address = words[2], jobs.name = words[3], jobs.messages = atol(words[4]), jobs.size = atol(words[5]);
    jobs.window = atol(words[6]), jobs.producers = atol(words[7]), jobs.consumers = atol(words[8]);
    jobs.part = atol(words[9]);
    must(natsConnection_ConnectTo(&c, jobs.address), jobs.address);
    (!strcmp(words[1], "put") ? put_all : take_all)(opened(c));
    natsConnection_Destroy(c);
    return 0;
}
