/* What do all C clients share? Their arguments, the clock, the schedule, the count of what came, JSON.
 *
 * PROGRAM send|receive ADDRESS ROOT MESSAGES SIZE TOPICS RATE READY
 *
 * RATE: messages a second on a fixed schedule, 0: as fast as it goes. READY: the file that a receiver touches.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define STALL 10.0 /* s without anything new, after which the rest counts as lost */
#define QUIET 200  /* ms in which whatever would come twice shows itself */
#define LONGEST 128 /* of a topic, with its closing 0 */

struct load {
    const char *address, *root, *ready;
    long messages, size, topics;
    double rate, began, used;
    bool is_sender;
    char (*keys)[LONGEST];
    char *content;
    double *late; /* s of each, where there is a schedule */
};

struct tally {
    unsigned char *seen;
    double *taken; /* s under way of each, where there is a schedule */
    long count, doubled, disordered, *highest; /* of each topic */
    double first, last;
};

static inline void refuse(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static inline double used(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static inline void pause_for(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static inline struct load read_load(int count, char **words) {
    if (count != 9)
        refuse("arguments", "send|receive ADDRESS ROOT MESSAGES SIZE TOPICS RATE READY");
    struct load l = {.address = words[2], .root = words[3], .messages = atol(words[4]), .size = atol(words[5]),
                     .topics = atol(words[6]), .rate = atof(words[7]), .ready = words[8]};
    l.is_sender = !strcmp(words[1], "send");
    l.keys = malloc(l.topics * sizeof *l.keys);
    for (long i = 0; i < l.topics; i++)
        snprintf(l.keys[i], LONGEST, "%s/%ld", l.root, i);
    l.content = memset(malloc(l.size), '.', l.size);
    l.late = l.rate ? malloc(l.messages * sizeof(double)) : NULL;
    return l;
}

static inline void begin(struct load *l) {
    l->used = used();
    l->began = now() + (l->rate ? 0.1 : 0);
}

static inline const char *key_of(const struct load *l, long number) { return l->keys[number % l->topics]; }

/* The message of this number: itself, and when it was due. Where there is a schedule: not before that. */
static inline const char *content_of(struct load *l, uint64_t number) {
    memcpy(l->content, &number, sizeof number);
    if (l->rate) {
        double due = l->began + number / l->rate, wait;
        while ((wait = due - now()) > 0)
            pause_for(wait);
        l->late[number] = -wait;
        memcpy(l->content + sizeof number, &due, sizeof due);
    }
    return l->content;
}

static inline int compared(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What part of so many values does not exceed, which are in order afterwards. */
static inline double percentile(double *values, long count, double part) {
    qsort(values, count, sizeof(double), compared);
    return values[(long)(count * part)];
}

static inline void tell_sent(const struct load *l) {
    double answered = now(), cpu = used() - l->used, late = l->rate ? percentile(l->late, l->messages, 0.5) : 0;
    printf("{\"began\": %.9f, \"answered\": %.9f, \"cpu\": %.6f, \"late\": %.9f}\n", l->began, answered, cpu, late);
}

static inline struct tally new_tally(struct load *l) {
    begin(l);
    return (struct tally){.seen = calloc(l->messages, 1), .highest = calloc(l->topics, sizeof(long)),
                          .taken = l->rate ? malloc(l->messages * sizeof(double)) : NULL};
}

static inline void ready(const struct load *l) {
    FILE *file = fopen(l->ready, "w");
    if (!file || fclose(file))
        refuse(l->ready, "cannot be written");
}

static inline void take(const struct load *l, struct tally *t, const char *content) {
    uint64_t number;
    memcpy(&number, content, sizeof number);
    if (number >= (uint64_t)l->messages)
        refuse(l->root, "a message came that was not sent");
    t->last = now();
    t->first = t->first ? t->first : t->last;
    if (t->seen[number]) {
        t->doubled++;
        return;
    }
    long *highest = &t->highest[number % l->topics];
    t->disordered += (long)number < *highest;
    *highest = (long)number > *highest ? (long)number : *highest;
    t->seen[number] = 1;
    if (t->taken) {
        double due;
        memcpy(&due, content + sizeof number, sizeof due);
        t->taken[t->count] = t->last - due;
    }
    t->count++;
}

static inline void tell_came(const struct load *l, struct tally *t) {
    if (t->taken && t->count) {
        double half = percentile(t->taken, t->count, 0.5), most = percentile(t->taken, t->count, 0.99);
        printf("{\"p50\": %.9f, \"p99\": %.9f, \"max\": %.9f, ", half, most, t->taken[t->count - 1]);
    } else
        printf("{");
    printf("\"first\": %.9f, \"last\": %.9f, \"cpu\": %.6f, \"lost\": %ld, \"doubled\": %ld, \"disordered\": %ld}\n",
           t->first, t->last, used() - l->used, l->messages - t->count, t->doubled, t->disordered);
}
