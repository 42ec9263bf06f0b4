/* How fast is Redis with its C client? `send` and `receive`: PUBLISH, 100 in a pipeline, and SUBSCRIBE;
 * `push` and `pop`: RPUSH likewise, and BLMPOP of up to 100. */
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

static void send_all(struct load *l, redisContext *c, const char *command) {
    long pipeline = l->rate ? 1 : PIPELINE;
    begin(l);
    for (long i = 0; i < l->messages; i++) {
        redisAppendCommand(c, command, key_of(l, i), content_of(l, i), (size_t)l->size);
        if ((i + 1) % pipeline == 0)
            answers(c, pipeline);
    }
    answers(c, l->messages % pipeline);
    tell_sent(l);
}

/* What lies in the list is not lost: ready at once. */
static void pop_all(struct load *l, redisContext *c) {
    struct tally t = new_tally(l);
    ready(l);
    for (double limit = 3 * STALL;; limit = t.count == l->messages ? QUIET / 1e3 : STALL) {
        redisReply *reply = redisCommand(c, "BLMPOP %f 1 %s LEFT COUNT %d", limit, l->keys[0], PIPELINE);
        if (!reply || reply->type != REDIS_REPLY_ARRAY)
            break;
        for (size_t i = 0; i < reply->element[1]->elements; i++)
            take(l, &t, reply->element[1]->element[i]->str);
        freeReplyObject(reply);
    }
    tell_came(l, &t);
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
    if (!strcmp(words[1], "push"))
        send_all(&l, c, "RPUSH %s %b");
    else if (!strcmp(words[1], "pop"))
        pop_all(&l, c);
    else if (l.is_sender)
        send_all(&l, c, "PUBLISH %s %b");
    else
        receive_all(&l, c);
    redisFree(c);
    return 0;
}
