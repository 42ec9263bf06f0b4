/* How fast is Redis with its C client? PUBLISH, 100 in a pipeline; SUBSCRIBE. */
#include "common.h"
#include <hiredis/hiredis.h>

#define PIPELINE 100

static redisContext *joined(const struct load *l) {
    char host[64];
    int port;
    if (sscanf(l->address, "%63[^:]:%d", host, &port) != 2)
        refuse(l->address, "is not HOST:PORT");
    redisContext *c = redisConnect(host, port);
    if (!c || c->err)
        refuse(l->address, c ? c->errstr : "no memory");
    return c;
}

static redisReply *reply_of(redisContext *c) {
    void *reply;
    if (redisGetReply(c, &reply) != REDIS_OK)
        return NULL;
    if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
        refuse("redis", ((redisReply *)reply)->str);
    return reply;
}

static void answers(redisContext *c, long count) {
    while (count--) {
        redisReply *reply = reply_of(c);
        if (!reply)
            refuse("redis", c->errstr);
        freeReplyObject(reply);
    }
}

static void send_all(struct load *l, redisContext *c) {
    long pipeline = l->rate ? 1 : PIPELINE;
    begin(l);
    for (long i = 0; i < l->messages; i++) {
        redisAppendCommand(c, "PUBLISH %s %b", key_of(l, i), content_of(l, i), (size_t)l->size);
        if ((i + 1) % pipeline == 0)
            answers(c, pipeline);
    }
    answers(c, l->messages % pipeline);
    tell_sent(l);
}

static void receive_all(struct load *l, redisContext *c) {
    struct timeval stall = {(long)STALL, 0}, quiet = {0, QUIET * 1000};
    struct tally t = new_tally(l);
    for (long i = 0; i < l->topics; i++)
        redisAppendCommand(c, "SUBSCRIBE %s", l->keys[i]);
    answers(c, l->topics);
    ready(l);
    redisReply *reply;
    redisSetTimeout(c, stall);
    while ((reply = reply_of(c))) {
        take(l, &t, reply->element[2]->str);
        freeReplyObject(reply);
        if (t.count == l->messages)
            redisSetTimeout(c, quiet);
    }
    tell_came(l, &t);
}

int main(int count, char **words) {
    struct load l = read_load(count, words);
    redisContext *c = joined(&l);
    (l.is_sender ? send_all : receive_all)(&l, c);
    redisFree(c);
    return 0;
}
