/* SPDX-License-Identifier: Apache-2.0
 *
 * recv_batch: messages from the ring straight into Arrow buffers, in one pass, handed over through the Arrow C data
 * interface (two PyCapsules); pyarrow is not needed to build this.
 *
 * Columns: topic, offset, timestamp, sender, type, value.
 */
#include "native.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

#define COLUMNS 6
#define MOST_BYTES (INT64_C(1) << 30) /* offsets are 32 bits wide */
#define KEEP_EXPECTING (INT64_C(1) << 24)

struct ArrowSchema { /* as the Arrow project specifies it */
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

static const char *const column_names[COLUMNS] = {"topic", "offset", "timestamp", "sender", "type", "value"};
static const char *const column_formats[COLUMNS] = {"u", "l", "tsu:UTC", "u", "u", "z"};
enum { TOPIC, OFFSET, TIMESTAMP, SENDER, TYPE, VALUE };

/* Columns being filled -------------------------------------------------------------------------------------- */

struct bytes_column {
    int32_t *ends; /* ends[0] = 0 */
    char *data;
    int64_t used, room;
};

/* Rows from `row` on have these names, made UTF-8, until the next run: mostly there is one in a batch. */
struct run {
    int64_t row;
    struct meta meta;
    char names[SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER];
};

struct batch {
    int64_t rows, limit;
    bool no_memory;
    int64_t *offsets, *times;
    struct bytes_column topic, sender, type, value;
    struct run run;
    bool run_begun;
};

static inline bool reserve(struct bytes_column *c, int64_t more) {
    if (c->used + more <= c->room) return true;
    int64_t room = c->room ? c->room : 4000; /* just below a power of two, as the pool likes it */
    while (room < c->used + more) room *= 2;
    char *data = pool_grow(c->data, (size_t)c->used, (size_t)room);
    if (!data) return false;
    c->data = data;
    c->room = room;
    return true;
}

/* How long the UTF-8 sequence at p is; 0 if it is none. */
static size_t utf8_length(const unsigned char *p, size_t left) {
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

/* Another program's names need not be UTF-8, Arrow's columns must be. */
static void make_utf8(char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((unsigned char *)text + i, size - i);
        if (length == 0) text[i] = '?';
        i += length ? length : 1;
    }
}

/* The same text in count rows: copied once, then what is there already, again and again. */
static bool repeat(struct bytes_column *c, int64_t row, const char *text, size_t size, int64_t count) {
    size_t all = size * (size_t)count;
    if (!reserve(c, (int64_t)all)) return false;
    char *to = c->data + c->used;
    for (size_t done = 0, part; done < all; done += part) {
        part = done ? (done < all - done ? done : all - done) : size;
        memcpy(to + done, done ? to : text, part);
    }
    for (int64_t i = 1; i <= count; i++) c->ends[row + i] = (int32_t)(c->used + i * (int64_t)size);
    c->used += (int64_t)all;
    return true;
}

static bool end_run(struct batch *b) {
    const struct run *run = &b->run;
    int64_t count = b->run_begun ? b->rows - run->row : 0;
    b->run_begun = false;
    return repeat(&b->type, run->row, run->names, run->meta.type_size, count) &&
           repeat(&b->sender, run->row, run->names + run->meta.type_size, run->meta.sender_size, count);
}

static bool begin_run(struct batch *b, const slipring_message *m) {
    struct run *run = &b->run;
    if (!end_run(b)) return false;
    b->run_begun = true;
    run->row = b->rows;
    meta_copy(&run->meta, m);
    memcpy(run->names, run->meta.words, (size_t)m->type_size + m->sender_size);
    make_utf8(run->names, m->type_size);
    make_utf8(run->names + m->type_size, m->sender_size);
    return true;
}

/* The sink of slipring_subscriber_drain. */
static bool take(void *context, const slipring_message *m) {
    struct batch *b = context;
    if (b->value.used + m->size > MOST_BYTES) return false;
    b->no_memory = !reserve(&b->value, m->size) || (!(b->run_begun && meta_is(&b->run.meta, m)) && !begin_run(b, m));
    if (b->no_memory) return false;
    slipring_copy(b->value.data + b->value.used, m->body, m->size);
    b->value.used += m->size;
    b->value.ends[b->rows + 1] = (int32_t)b->value.used;
    b->offsets[b->rows] = (int64_t)m->seq;
    b->times[b->rows] = m->time_ns / 1000;
    b->rows++;
    return true;
}

/* The last row was overwritten while it was copied, its names too. */
static void untake(struct batch *b, int64_t rows) {
    b->rows = rows;
    b->value.used = b->value.ends[rows];
    if (b->run_begun && b->run.row >= rows) b->run_begun = false;
}

static bool start_column(struct bytes_column *c, int64_t limit, int64_t expected) {
    c->ends = pool_take((size_t)(limit + 1) * sizeof *c->ends);
    if (!c->ends || !reserve(c, expected)) return false;
    c->ends[0] = 0;
    return true;
}

/* expected: bytes of bodies, from the last batch, so that most batches never grow. */
static bool batch_start(struct batch *b, int64_t limit, int64_t expected) {
    memset(b, 0, offsetof(struct batch, run));
    b->run_begun = false;
    b->limit = limit;
    b->offsets = pool_take((size_t)(limit ? limit : 1) * sizeof *b->offsets);
    b->times = pool_take((size_t)(limit ? limit : 1) * sizeof *b->times);
    return b->offsets && b->times && start_column(&b->topic, limit, 1) && start_column(&b->sender, limit, 1) &&
           start_column(&b->type, limit, 1) && start_column(&b->value, limit, expected);
}

static void batch_free(struct batch *b) {
    pool_give(b->offsets);
    pool_give(b->times);
    struct bytes_column *columns[4] = {&b->topic, &b->sender, &b->type, &b->value};
    for (int i = 0; i < 4; i++) {
        pool_give(columns[i]->ends);
        pool_give(columns[i]->data);
    }
}

/* Handing over ---------------------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(schema->children);
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array) {
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child && child->release) child->release(child);
        free(child);
    }
    free(array->children);
    for (int64_t i = 0; i < array->n_buffers; i++) pool_give((void *)(uintptr_t)array->buffers[i]);
    free(array->buffers);
    array->release = NULL;
}

static bool make_schema(struct ArrowSchema *schema) {
    *schema = (struct ArrowSchema){.format = "+s", .name = "", .release = release_schema};
    schema->children = calloc(COLUMNS, sizeof *schema->children);
    if (!schema->children) return false;
    for (; schema->n_children < COLUMNS; schema->n_children++) {
        struct ArrowSchema *child = calloc(1, sizeof *child);
        if (!child) return false;
        child->format = column_formats[schema->n_children];
        child->name = column_names[schema->n_children];
        child->release = release_schema;
        schema->children[schema->n_children] = child;
    }
    return true;
}

/* Takes the buffers over from *a (and *b, when given). */
static struct ArrowArray *make_column(int64_t rows, void **a, void **b) {
    struct ArrowArray *array = calloc(1, sizeof *array);
    const void **buffers = calloc(3, sizeof *buffers);
    if (!array || !buffers) {
        free(array);
        free(buffers);
        return NULL;
    }
    buffers[1] = *a;
    *a = NULL;
    if (b) {
        buffers[2] = *b;
        *b = NULL;
    }
    *array = (struct ArrowArray){.length = rows, .n_buffers = b ? 3 : 2, .buffers = buffers, .release = release_array};
    return array;
}

static bool make_array(struct ArrowArray *array, struct batch *b) {
    *array = (struct ArrowArray){.length = b->rows, .n_buffers = 1, .release = release_array};
    array->buffers = calloc(1, sizeof *array->buffers);
    array->children = calloc(COLUMNS, sizeof *array->children);
    if (!array->buffers || !array->children) return false;
    array->n_children = COLUMNS;
    struct bytes_column *texts[COLUMNS] = {&b->topic, NULL, NULL, &b->sender, &b->type, &b->value};
    void **numbers[COLUMNS] = {NULL, (void **)&b->offsets, (void **)&b->times, NULL, NULL, NULL};
    for (int i = 0; i < COLUMNS; i++) {
        array->children[i] = texts[i] ? make_column(b->rows, (void **)&texts[i]->ends, (void **)&texts[i]->data)
                                      : make_column(b->rows, numbers[i], NULL);
        if (!array->children[i]) return false;
    }
    return true;
}

static void schema_capsule_free(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release) schema->release(schema);
    free(schema);
}

static void array_capsule_free(PyObject *capsule) {
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release) array->release(array);
    free(array);
}

static PyObject *hand_over(struct batch *b) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    struct ArrowArray *array = calloc(1, sizeof *array);
    PyObject *schema_capsule = NULL, *array_capsule = NULL;
    if (schema && array && make_schema(schema) && make_array(array, b)) {
        schema_capsule = PyCapsule_New(schema, "arrow_schema", schema_capsule_free);
        array_capsule = PyCapsule_New(array, "arrow_array", array_capsule_free);
    }
    if (schema_capsule && array_capsule) return Py_BuildValue("NN", schema_capsule, array_capsule);
    if (!schema_capsule && schema) {
        if (schema->release) schema->release(schema);
        free(schema);
    }
    if (!array_capsule && array) {
        if (array->release) array->release(array);
        free(array);
    }
    Py_XDECREF(schema_capsule);
    Py_XDECREF(array_capsule);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* What is there now, and not what is published while we copy it: a fast publisher would keep us here, and make batches
 * so large that the memory for them costs more than the messages. */
static int64_t goal_of(Subscriber *self, const struct batch *b) {
    slipring_counts c;
    slipring_subscriber_counts(self->sub, &c);
    uint64_t there = c.tail > c.position ? c.tail - c.position : 1; /* one writer's newest may not be counted yet */
    return there < (uint64_t)b->limit ? (int64_t)there : b->limit;
}

/* EMPTY, OK or another code; rows are in b. */
static int drain(Subscriber *self, struct batch *b) {
    int code = SLIPRING_EMPTY;
    if (!self->sub) return code;
    PyThreadState *state = handle_release_gil(&self->handle);
    for (int64_t goal = goal_of(self, b); b->rows < goal;) {
        size_t taken, before = (size_t)b->rows;
        code = slipring_subscriber_drain(self->sub, (size_t)(goal - b->rows), take, b, &taken);
        untake(b, (int64_t)(before + taken));
        if (code == SLIPRING_LAPPED) continue;
        if (code || taken == 0 || b->no_memory || b->value.used > MOST_BYTES / 2) break;
    }
    handle_retake_gil(&self->handle, state);
    return b->rows ? SLIPRING_OK : code;
}

PyObject *subscriber_recv_batch(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const char *const names[] = {"n", "timeout"};
    Subscriber *self = (Subscriber *)object;
    PyObject *given[2] = {NULL, NULL}, *result = NULL;
    struct timeout timeout = {.never_waits = true};
    struct batch b;
    Py_ssize_t limit = 65536;
    if (!arguments_parse("recv_batch", names, 2, 0, args, nargs, kwnames, given)) return NULL;
    if (given[1] && !timeout_parse(given[1], &timeout)) return NULL;
    if (given[0]) limit = PyNumber_AsSsize_t(given[0], PyExc_OverflowError);
    if (limit < 0 || limit > INT32_MAX / 2) {
        if (PyErr_Occurred()) return NULL;
        return raise_bad_argument("n", "n must be between 0 and 1073741823");
    }
    if (!subscriber_enter(self)) return NULL;
    bool started = batch_start(&b, limit, self->batch_bytes);
    int code = SLIPRING_OK, again = 1;
    while (started && limit) {
        code = drain(self, &b);
        if (code != SLIPRING_EMPTY || again <= 0) break;
        again = subscriber_wait(self, &timeout);
        if (again < 0 || timeout.never_waits) break;
    }
    if (b.value.used < KEEP_EXPECTING) self->batch_bytes = b.value.used;
    subscriber_leave(self);
    if (PyErr_Occurred()) {
    } else if (!started || (b.no_memory && !b.rows) || !end_run(&b) ||
               !repeat(&b.topic, 0, self->topic_name, strlen(self->topic_name), b.rows)) {
        PyErr_NoMemory();
    } else if (code && code != SLIPRING_EMPTY) {
        raise_code(code);
    } else {
        result = hand_over(&b);
    }
    batch_free(&b);
    return result;
}
