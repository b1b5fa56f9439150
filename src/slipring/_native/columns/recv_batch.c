/* SPDX-License-Identifier: Apache-2.0
 *
 * recv_batch: messages from the ring straight into Arrow buffers, in one pass.
 */
#include "columns/columns.h"

#define KEEP_EXPECTING (INT64_C(1) << 24)
#define FEW 16 /* messages taken one by one before the next attempt to take a run */
#define ENOUGH_BYTES (INT64_C(1) << 29)
#define MOST_ROWS (INT32_MAX / 256) /* types or senders of the greatest length end below 2 GiB in this many rows, as Arrow's offsets require */
#define ASKED                                                                                            \
    (COLUMN_BIT(TOPIC) | COLUMN_BIT(OFFSET) | COLUMN_BIT(TIMESTAMP) | COLUMN_BIT(SENDER) | COLUMN_BIT(TYPE) | \
     COLUMN_BIT(VALUE))

static bool take(void *context, const slipring_message *m) { return batch_take(context, m); }

/* The number of messages that are there now. Messages published during the copy wait for the next batch: with a fast publisher
 * a batch would never end, or become so large that its memory costs more than the messages. */
static int64_t goal_of(Subscriber *self, const struct batch *b) {
    slipring_counts c;
    slipring_subscriber_counts(self->sub, &c);
    uint64_t there = c.tail > c.position ? c.tail - c.position : 1; /* the newest message of a single writer may not be counted yet */
    return there < (uint64_t)b->limit ? (int64_t)there : b->limit;
}

/* EMPTY, OK or another code; rows are in b. */
static int drain(Subscriber *self, struct batch *b) {
    int code = SLIPRING_EMPTY;
    if (!self->sub) return code;
    PyThreadState *state = handle_release_gil(&self->handle);
    for (int64_t goal = goal_of(self, b); b->rows < goal && batch_bytes(b) <= ENOUGH_BYTES;) {
        if (batch_take_run(b, self->sub, goal - b->rows)) continue;
        size_t taken, before = (size_t)b->rows, few = (size_t)(goal - b->rows < FEW ? goal - b->rows : FEW);
        code = slipring_subscriber_drain(self->sub, few, take, b, &taken);
        batch_cut(b, (int64_t)(before + taken));
        if (code == SLIPRING_LAPPED) continue;
        if (code || taken == 0 || b->no_memory) break;
    }
    handle_retake_gil(&self->handle, state);
    return b->rows ? SLIPRING_OK : code;
}

PyObject *subscriber_recv_batch(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv_batch", 2, 0, {"n", "timeout"}, {NULL}};
    Subscriber *self = (Subscriber *)object;
    PyObject *given[2] = {NULL, NULL}, *result = NULL;
    struct timeout timeout = {.never_waits = true};
    struct batch b;
    Py_ssize_t limit = 65536;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (given[1] && !timeout_parse(given[1], &timeout)) return NULL;
    if (given[0]) limit = PyNumber_AsSsize_t(given[0], NULL); /* cut to the largest possible number, and refused below */
    if (limit < 0 || limit > INT32_MAX / 2) {
        if (PyErr_Occurred()) return NULL;
        return raise_bad_argument("n", "n=%.100R must be at least 0 and at most 1073741823", given[0]);
    }
    if (!subscriber_enter(self)) return NULL;
    if (limit > MOST_ROWS) limit = MOST_ROWS;
    bool started = batch_start(&b, ASKED, limit, self->batch_bytes);
    int code = SLIPRING_OK, again = 1;
    while (started && limit) {
        code = drain(self, &b);
        if (code != SLIPRING_EMPTY || again <= 0) break;
        again = subscriber_wait(self, &timeout);
        if (again < 0 || timeout.never_waits) break;
    }
    if (batch_bytes(&b) < KEEP_EXPECTING) self->batch_bytes = batch_bytes(&b);
    subscriber_leave(self);
    if (PyErr_Occurred()) {
    } else if (!started || (b.no_memory && !b.rows)) {
        PyErr_NoMemory();
    } else if (code && code != SLIPRING_EMPTY) {
        raise_code(code);
    } else if (limit && !code && !b.rows) {
        raise_bad_argument("n", BATCH_TOO_SMALL);
    } else {
        result = batch_hand_over(&b, &(struct batch_constants){.topic = self->topic_name});
    }
    batch_free(&b);
    return result;
}
