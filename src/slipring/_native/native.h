/* SPDX-License-Identifier: Apache-2.0
 *
 * The binding: one Python type for each C type of the core. Everything convenient is Python code above it.
 *
 * One thread at a time uses a handle (slipring.h). With the GIL, the GIL is the lock. Large copies release it: `busy` then
 * keeps other threads out. In free-threaded builds a mutex is the lock. A wait holds no lock, because it only reads; the
 * thread that wakes up tries again.
 */
#ifndef SLIPRING_NATIVE_H
#define SLIPRING_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <sys/types.h>

#include "base/defects.h" /* planted defects; topics/blockers.c and messages/receive.c include other private headers */
#include "slipring.h"

#define LARGE_COPY 32768 /* bytes worth releasing the GIL for */
#define DEFAULT_SPIN_US 20.0
#define LONGEST_SPIN_US 1e7

/* Handle ---------------------------------------------------------------------------------------------------- */

struct handle {
    int users;    /* running calls, open views and loans; the core's handle lives until they end */
    bool closing; /* close() was called */
#ifdef Py_GIL_DISABLED
    PyMutex mutex;
#else
    bool busy;
    pid_t busy_in; /* the process of the busy thread; a forked child inherits `busy` without the thread */
    PyThread_type_lock busy_lock;
#endif
};

bool handle_init(struct handle *h);
void handle_clear(struct handle *h);
void handle_lock(struct handle *h);
/* For a locked handle, after anything that may have run Python code: signal handlers, finalizers, methods of a buffer or a
 * number. With the GIL, another thread may have locked the handle meanwhile. */
void handle_relock(struct handle *h);
void handle_unlock(struct handle *h);
/* For a locked handle: other threads stay out although the GIL is released. */
PyThreadState *handle_release_gil(struct handle *h);
void handle_retake_gil(struct handle *h, PyThreadState *state);

/* Errors ---------------------------------------------------------------------------------------------------- */

#define COLD __attribute__((cold, noinline)) /* stays out of the hot paths, which are flattened */
COLD PyObject *raise_code(int code); /* NULL, with the exception for the core's last error */
COLD PyObject *raise_code_at(int code, const char *bus); /* the same for an error about files of this bus directory */
COLD PyObject *raise_closed(const char *what);
bool closed_is_raised(void);
COLD void raise_text(int code, PyObject *text, const char *argument);
/* BadArgument; the format is PyUnicode_FromFormat's. */
COLD PyObject *raise_bad_argument(const char *argument, const char *format, ...);
/* TypeError "argument must be allowed, not int". */
COLD PyObject *raise_wrong_type(const char *argument, const char *allowed, PyObject *found);
PyObject *set_error_factory(PyObject *module, PyObject *factory);

/* Arguments ------------------------------------------------------------------------------------------------- */

struct timeout {
    bool never_waits;
    int64_t deadline_ns;
    double seconds; /* < 0: no limit; the deadline is set when waiting begins */
};
bool timeout_parse(PyObject *value, struct timeout *out);
int64_t timeout_deadline(struct timeout *t);

/* The parameters of a FASTCALL function, by position or by name. The names are interned when they are first needed. A call in
 * source code passes the same interned objects, so that comparing pointers is enough. */
struct signature {
    const char *function;
    size_t count, required;
    const char *names[5];
    PyObject *interned[5];
};

bool arguments_parse(struct signature *signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **out);
/* The same, with the usual case inlined: positional arguments, none missing. */
static inline bool arguments_get(struct signature *signature, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                 PyObject **out) {
    if (kwnames || (size_t)nargs > signature->count || (size_t)nargs < signature->required)
        return arguments_parse(signature, args, nargs, kwnames, out);
    for (Py_ssize_t i = 0; i < nargs; i++) {
        out[i] = args[i];
        __asm__ volatile("" : : : "memory"); /* keeps the compiler from calling memcpy for one or two pointers */
    }
    return true;
}

/* The contents and size of an exact bytes object, as PyBytes_AsString and PyBytes_Size return them, without a call for each
 * message. The contents begin at the same offset in every bytes object; bytes_ready finds it. */
extern size_t bytes_contents;
bool bytes_ready(void);
static inline char *bytes_data(PyObject *bytes) { return (char *)bytes + bytes_contents; }
static inline size_t bytes_size(PyObject *bytes) { return (size_t)Py_SIZE(bytes); }

/* arguments/body.c. Gets contiguous memory, read-only or with PyBUF_WRITABLE. Returns 1; 0 with an exception if the memory
 * contains objects or pointers; -1 with the exporter's exception. */
int buffer_get(PyObject *object, const char *argument, int flags, Py_buffer *view);
/* After -1: the same for an exporter that cannot describe its format. */
bool buffer_get_without_format(PyObject *object, const char *argument, int flags, Py_buffer *view);
bool buffer_is_plain(Py_buffer *view, const char *argument); /* false: it is released, with an exception */
bool buffer_get_target(PyObject *object, Py_buffer *view); /* memory to receive into */
PyObject *native_check_target(PyObject *module, PyObject *object);

struct body {
    const void *data;
    Py_ssize_t size;
    Py_buffer view;
    bool has_view;
    PyObject *copy;
};
bool body_get(PyObject *object, struct body *out);
void body_release(struct body *body);
PyObject *native_body_bytes(PyObject *module, PyObject *object);
bool text_get(PyObject *object, const char *argument, const char **data, Py_ssize_t *size);

/* A function of one argument. A built-in one, such as those of msgspec, is called without the general call of Python. */
struct function {
    PyObject *object; /* NULL: not known yet */
    PyObject *self;   /* of a built-in function, with one of: */
    PyCFunction one;
    _PyCFunctionFast many;
};
void function_set(struct function *function, PyObject *object); /* keeps a reference */
static inline PyObject *function_call(const struct function *function, PyObject *argument) {
    if (function->one) return function->one(function->self, argument);
    if (function->many) return function->many(function->self, &argument, 1);
    return PyObject_CallFunctionObjArgs(function->object, argument, NULL);
}

/* Types ----------------------------------------------------------------------------------------------------- */

typedef struct Message {
    PyObject_HEAD
    PyObject *body, *sender, *type, *topic;
    PyObject *value; /* of a typed topic: its Decoder, then the value; NULL: the value is the body */
    unsigned long long seq;
    long long time_ns;
} Message;

typedef struct Publisher {
    PyObject_HEAD
    slipring_publisher *pub;
    PyObject *codec; /* of a typed topic: encode, send_many, loan; else NULL */
    struct handle handle; /* to here: what a send of bytes reads, in one cache line */
    PyObject *topic, *sender;
    PyObject *schema; /* bytes; NULL: the topic has none */
    struct function encode; /* of the codec, from the first send on */
} Publisher;

/* messages/message.c: type and sender of a message, as they lie behind its body. */
struct meta {
    size_t type_size, sender_size; /* not bytes: the compiler would compare two of them as one word that was just stored in halves */
    uint64_t words[(SLIPRING_MAX_TYPE + SLIPRING_MAX_SENDER) / 8 + 1];
};

struct names { /* of the last message; zero at first */
    PyObject *type, *sender;
    struct meta meta, next; /* next: a copy of others, until it is certain that they were not overwritten */
};

static inline size_t meta_words(const struct meta *m) { return (m->type_size + m->sender_size + 7) / 8; }

static inline void meta_copy(struct meta *to, const slipring_message *m) {
    to->type_size = m->type_size;
    to->sender_size = m->sender_size;
    slipring_copy(to->words, m->meta, meta_words(to) * 8); /* whole words: the rest is padding of the message */
}

/* Compares in place. Others may be overwriting the message; the caller checks that afterwards, as for every copy. */
static inline bool meta_is(const struct meta *meta, const slipring_message *m) {
    const volatile uint64_t *words = m->meta;
    if (meta->type_size != m->type_size || meta->sender_size != m->sender_size) return false;
    for (size_t i = 0, count = meta_words(meta); i < count; i++)
        if (meta->words[i] != words[i]) return false;
    return true;
}

static inline bool names_are(const struct names *names, const slipring_message *m) {
    return names->type && meta_is(&names->meta, m);
}

COLD bool names_become(struct names *names, const struct meta *meta);
void names_clear(struct names *names);

typedef struct Subscriber {
    PyObject_HEAD
    slipring_subscriber *sub; /* NULL until the topic exists */
    PyObject *topic, *arguments;
    PyObject *reading; /* (topic, schema or None) -> Decoder, of this subscriber; None: it accepts any topic as it is */
    PyObject *schema;  /* bytes; NULL: the topic has none */
    PyObject *decoder; /* NULL: values are bodies */
    char *bus_path, *topic_name;
    slipring_counts last_counts; /* of a closed subscriber */
    double spin_us;
    struct names names;
    int64_t batch_bytes; /* of bodies in the last batch */
    struct handle handle;
} Subscriber;

extern PyTypeObject *message_type, *publisher_type, *subscriber_type, *region_type, *view_type, *loan_type, *bell_type,
    *inspector_type, *range_type;

bool message_type_ready(PyObject *module);
bool publisher_type_ready(PyObject *module);
bool subscriber_type_ready(PyObject *module);
bool region_type_ready(PyObject *module);
bool view_type_ready(PyObject *module);
bool decoder_type_ready(PyObject *module);
bool checked_type_ready(PyObject *module);
bool loan_type_ready(PyObject *module);
bool bell_type_ready(PyObject *module);
bool cells_types_ready(PyObject *module);
bool frame_writer_type_ready(PyObject *module);
bool frame_reader_type_ready(PyObject *module);
bool inspector_type_ready(PyObject *module);
bool range_type_ready(PyObject *module);
bool record_layout_type_ready(PyObject *module);
PyTypeObject *add_type(PyObject *module, PyType_Spec *spec);
/* Publisher[Imu], for type checkers: the same class. */
#define GENERIC {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL}

/* Steals body; borrows the rest. value: a Decoder, or the value; NULL: the body. */
PyObject *message_new(PyObject *body, PyObject *sender, PyObject *type, PyObject *topic, PyObject *value, uint64_t seq,
                      int64_t time_ns);
/* messages/decoder.c */
bool decoder_check(PyObject *object);
PyObject *decoder_value(PyObject *decoder, PyObject *body, PyObject *topic, uint64_t seq);
/* Calls locate(error, topic, seq), which adds the place to the exception. seq is None before a message has one. */
COLD void locate_error(PyObject *locate, PyObject *topic, PyObject *seq);
/* A schema that the core copies with one of its functions: *out is bytes, or NULL if the topic has none. */
typedef int (*schema_getter)(const void *handle, void *buffer, size_t room, size_t *size);
bool schema_get(schema_getter get, const void *handle, PyObject **out);

/* Memory of the ring behind the buffer protocol; `done` is called once, when the last buffer is released. */
PyObject *region_new(PyObject *owner, void *data, Py_ssize_t size, bool writable, void (*done)(PyObject *owner, uint64_t seq),
                     uint64_t seq);
PyObject *region_memoryview(PyObject *region);
PyObject *region_release(PyObject *memoryview); /* calls release(): None, or NULL with the exception */
void region_forget(PyObject *region, uint64_t seq); /* `done` gets this instead */
bool region_in_use(PyObject *region); /* a buffer of it is not released */

bool publisher_enter(Publisher *self);
void publisher_leave(Publisher *self);
void publisher_unpin(Publisher *self); /* leaves a handle that is not locked */
/* After FULL: 1 try again, 0 the time is up, -1 exception. */
int publisher_wait(Publisher *self, struct timeout *timeout);
/* topics/blockers.c. NULL, with the exception for a message that was not sent; Full names the process that blocks it. */
COLD PyObject *raise_unsent(Publisher *self, int code);
/* The oldest open claim of each living publisher, by sequence: [{seq, entry, pid, sender}]. */
PyObject *open_claims(const char *bus, const char *topic);
/* The given time-out, or the default of the topic if it is NULL. */
bool publisher_timeout(Publisher *self, PyObject *given, struct timeout *out);
PyObject *publisher_call_codec(Publisher *self, const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *publisher_send_records(PyObject *self, PyObject *args);
PyObject *publisher_send_many_raw(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *publisher_loan_raw(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *publisher_send_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
int publisher_claim(Publisher *self, size_t size, PyObject *type_text, PyObject *timeout_value, slipring_claim *out);
PyObject *publisher_send_precommit(PyObject *self, PyObject *args);
PyObject *publisher_send_rows_precommit(PyObject *self, PyObject *args);
PyObject *publisher_loan(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

bool subscriber_enter(Subscriber *self);
void subscriber_leave(Subscriber *self);
void subscriber_unpin(Subscriber *self);
/* After EMPTY: 1 try again, 0 the time is up, -1 exception. */
int subscriber_wait(Subscriber *self, struct timeout *timeout);
/* looked: the ring was empty a moment ago; reading it again would only disturb a writer. */
PyObject *subscriber_recv_until(Subscriber *self, struct timeout *timeout, Py_buffer *into, PyObject *into_object, bool looked);
PyObject *subscriber_recv(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *subscriber_recv_into(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *subscriber_recv_many(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *subscriber_next(PyObject *self);
PyObject *subscriber_iter(PyObject *self);
PyObject *subscriber_view(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *subscriber_recv_batch(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

PyObject *native_wait(PyObject *module, PyObject *args);
PyObject *native_keep(PyObject *module, PyObject *args);
PyObject *topic_create(PyObject *module, PyObject *args);
PyObject *topic_remove(PyObject *module, PyObject *args);
PyObject *topic_stats(PyObject *module, PyObject *args);
PyObject *topic_schema(PyObject *module, PyObject *args);
PyObject *topic_sweep(PyObject *module, PyObject *args);
PyObject *topic_repair(PyObject *module, PyObject *args);
PyObject *topic_verify(PyObject *module, PyObject *args);
PyObject *cells_create(PyObject *module, PyObject *args);
PyObject *cells_remove(PyObject *module, PyObject *args);
PyObject *cells_stats(PyObject *module, PyObject *args);
PyObject *cells_sweep(PyObject *module, PyObject *args);
PyObject *cursor_drop(PyObject *module, PyObject *args);
PyObject *check_name(PyObject *module, PyObject *args);
PyObject *layout(PyObject *module, PyObject *args);
PyObject *frames_inspect(PyObject *module, PyObject *args);
bool settings_parse(PyObject *dict, slipring_settings *out);

#endif
