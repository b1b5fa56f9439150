/* SPDX-License-Identifier: Apache-2.0
 *
 * Every crash state. A subject (topics, cells, frames) has setups: files with live users, who are handles of the explorer
 * itself. An operation is done by a child of it, a victim, whose every step leaves a state: the bytes of the files and
 * the journal of what the victim had asked for by then. Equal states are one. For each, with the victim gone and its locks
 * with it, the bytes are put back and a judge goes on as those who live (and as those who come) would.
 * Then a recoverer comes upon the state, leaves states of its own by the same means, and those are judged too.
 *
 * Children are forked past the core's fork handlers: they have the survivors' handles as they were, and their end changes
 * nothing for the explorer, who keeps the locks. On x86 the stores of a process are seen in its program order, so
 * the bytes after its n-th store are what a kill there leaves. Every eighth state is made by a real SIGKILL as
 * well, and compared.
 */
#ifndef STATES_H
#define STATES_H

#include "harness.h"
#include "steps.h"

/* What the judges must know beside the files; kept with each state. */
#define SOURCES 4   /* 0: survivors, 1: victim, 2: recoverer, 3: those who died before */
#define NUMBERS 512 /* messages of a source */
enum status { NEVER, OPEN, DONE, REFUSED }; /* not asked for, or begun and aborted; being sent; sent; not taken */
struct journal {
    _Alignas(32) uint8_t status[SOURCES][NUMBERS];
    uint32_t next[SOURCES];
    uint32_t wakes[2];
    int64_t clock_ns;
    uint64_t cursor_was, cursor_asked; /* committed by the cursor "c": at least that, at most this */
    uint64_t flags;
    uint64_t value[8]; /* of other subjects */
};
extern struct journal *journal;
extern uint32_t source; /* of this process */

/* What a judge found of the messages of victim and recoverer: a bit for each that is there. */
struct verdict {
    uint64_t there[SOURCES];
};
extern struct verdict *verdict;

enum mode { BY_THEMSELVES, BY_ATTACH, BY_SWEEP, MODES }; /* how the survivors come to recover */

struct setup {
    const char *name;
    int delivery, writers, before, detail;
};

struct operation {
    const char *name;
    void (*prepare)(void); /* without steps; may be NULL */
    void (*act)(void);
    bool (*fits)(const struct setup *setup); /* NULL: all */
    void (*race)(void); /* what somebody else does before one of the steps, each in turn; NULL: nobody */
};

struct subject {
    const char *name;
    const char *const *suffixes; /* of its files, NULL at the end */
    const struct setup *setups;
    size_t setup_count;
    const struct operation *operations;
    size_t operation_count;
    const struct operation *recoverers;
    size_t recoverer_count;
    void (*begin)(const struct setup *setup); /* makes topic "t" and the survivors */
    void (*judge)(const struct setup *setup, enum mode mode, bool brief); /* brief: of a pair */
    void (*end)(const struct setup *setup);
    /* What the survivors' handles remember. With these the judge need not be a child, which is four times as fast: it
     * closes what it opened, and leaves the survivors open. NULL: it is a child, and may end as it likes. */
    void (*save)(void);
    void (*restore)(void);
};
/* Each program has one: topics/topics.c, cells.c, frames.c. */
const struct subject *subject_of_this_program(void);
void explore(void);

/* image.c: the bytes of the files. */
struct state {
    uint32_t step;
    uint64_t key; /* of bytes and journal */
    struct journal journal;
    uint8_t *bytes;
};
void images_open(const char *const *suffixes);
void images_close(void);
void state_read(struct state *state);
void state_restore(const struct state *state);
#define MOST_BYTES (96u << 10)
struct snapshots; /* what one run left; in memory shared with the child that fills it */
struct snapshots *snapshots_new(void);
void snapshots_clear(struct snapshots *snapshots);
void snapshots_keep(struct snapshots *snapshots); /* the state as it stands, unless it is the last one's */
size_t snapshots_count(const struct snapshots *snapshots);
struct state snapshots_state(const struct snapshots *snapshots, size_t index);

/* known.c: states met in this setup, and their verdicts. */
struct known {
    uint64_t key;
    struct verdict verdict;
    bool judged, recovered; /* as the state of a victim */
};
void known_forget(void);
struct known *known_state(uint64_t key, bool *is_new);

/* options.c: name=value among the arguments. */
const char *option(const char *name);      /* NULL: not given */
uint32_t option_number(const char *name);  /* 0: not given */
bool asked(const char *name, const char *is); /* it is, or is not given */

/* children.c */
pid_t fork_quietly(void);
/* A child that dies at its kill_at-th step (0: never), or at its end: the number of its steps. */
uint32_t run_operation(const struct operation *operation, uint32_t as, uint32_t race_at, uint32_t kill_at, struct snapshots *snapshots);

#endif
