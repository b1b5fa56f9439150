/* SPDX-License-Identifier: Apache-2.0
 *
 * recv, recv_into, iteration and recv_many: from the ring into Message objects.
 *
 * recv_many waits for its first message as recv does. Messages of the same type and sender form a run: the core passes them
 * to `take` one by one, and publishers see the new position once. A message with another type or sender, a large message or
 * an error is handled as by recv; then the next run begins.
 */
#include "base/hot_path.h"
#include "native.h"

static COLD void copy_large(Subscriber *self, void *to, const slipring_message *m) {
    PyThreadState *state = handle_release_gil(&self->handle);
    slipring_copy(to, m->body, m->size);
    handle_retake_gil(&self->handle, state);
}

static void copy_body(Subscriber *self, void *to, const slipring_message *m) {
    if (m->size < LARGE_COPY)
        slipring_copy(to, m->body, m->size);
    else
        copy_large(self, to, m);
}

static COLD void raise_too_small(Py_ssize_t room, uint32_t size) {
    raise_bad_argument("buffer", "buffer has %zd bytes, the next message has %u: use a larger buffer", room, (unsigned)size);
}

/* A message whose body is the filled part of the caller's buffer. Holds own references to type and sender: creating a
 * memoryview may run Python code, and another thread may receive meanwhile. */
static PyObject *message_into(Subscriber *self, PyObject *buffer, const slipring_message *m) {
    PyObject *sender = self->names.sender, *type = self->names.type;
    Py_INCREF(sender);
    Py_INCREF(type);
    PyObject *whole = PyMemoryView_FromObject(buffer), *part = whole ? PySequence_GetSlice(whole, 0, m->size) : NULL;
    Py_XDECREF(whole);
    PyObject *message = part ? message_new(part, sender, type, self->topic, self->decoder, m->seq, m->time_ns) : NULL;
    Py_DECREF(sender);
    Py_DECREF(type);
    return message;
}

/* OK with *out, a code, or 1 with an exception. into: a buffer instead of a new bytes object. */
static int try_recv(Subscriber *self, Py_buffer *into, PyObject *into_object, PyObject **out) {
    if (!self->sub) return SLIPRING_EMPTY;
    for (;;) {
        slipring_message m;
        int code = slipring_subscriber_peek(self->sub, &m);
        if (code) return code;
        PyObject *body = NULL;
        char *target;
        if (into) {
            target = into->buf;
            if (m.size > into->len && slipring_subscriber_intact(self->sub)) {
                raise_too_small(into->len, m.size);
                return 1;
            }
        } else {
            body = PyBytes_FromStringAndSize(NULL, m.size);
            if (!body) return 1;
            target = bytes_data(body);
        }
        if (into && m.size > into->len) m.size = (uint32_t)into->len; /* the size is not valid: accept reports that */
        copy_body(self, target, &m);
        bool known = names_are(&self->names, &m);
        if (!known) meta_copy(&self->names.next, &m);
        code = slipring_subscriber_accept(self->sub);
        if (code == SLIPRING_OK) {
            if (!known && !names_become(&self->names, &self->names.next)) {
                Py_XDECREF(body);
                return 1;
            }
            *out = into ? message_into(self, into_object, &m)
                        : message_new(body, self->names.sender, self->names.type, self->topic, self->decoder, m.seq, m.time_ns);
            return *out ? SLIPRING_OK : 1;
        }
        Py_XDECREF(body);
        if (code != SLIPRING_LAPPED) return code;
    }
}

static __attribute__((flatten)) int try_recv_again(Subscriber *self, Py_buffer *into, PyObject *into_object, PyObject **out) {
    return try_recv(self, into, into_object, out);
}

PyObject *subscriber_recv_until(Subscriber *self, struct timeout *timeout, Py_buffer *into, PyObject *into_object,
                                bool looked) {
    PyObject *message = NULL;
    if (!subscriber_enter(self)) return NULL;
    for (int last = 0;; looked = false) {
        int code = looked ? SLIPRING_EMPTY : try_recv_again(self, into, into_object, &message);
        if (code == SLIPRING_EMPTY && !last) {
            int again = subscriber_wait(self, timeout);
            if (again > 0) continue;
            if (again < 0) break;
            if (timeout->never_waits) {
                Py_INCREF(Py_None);
                message = Py_None;
                break;
            }
            last = 1; /* time-out: try once more */
            continue;
        }
        if (code == SLIPRING_EMPTY) {
            Py_INCREF(Py_None);
            message = Py_None;
        } else if (code && code != 1) {
            raise_code(code);
        }
        break;
    }
    subscriber_leave(self);
    return message;
}

/* The usual case: a message is there. NULL without an exception: wait for one. */
static __attribute__((flatten)) PyObject *recv_now(Subscriber *self) {
    PyObject *message = NULL;
    if (!subscriber_enter(self)) return NULL;
    int code = try_recv(self, NULL, NULL, &message);
    if (code && code != SLIPRING_EMPTY && code != 1) raise_code(code);
    subscriber_leave(self);
    return message;
}

PyObject *subscriber_recv(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv", 1, 0, {"timeout"}, {NULL}};
    PyObject *given[1] = {Py_None};
    struct timeout timeout;
    if ((nargs || kwnames) && !arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (given[0] != Py_None && !timeout_parse(given[0], &timeout)) return NULL; /* before a message is read */
    PyObject *message = recv_now((Subscriber *)object);
    if (message || PyErr_Occurred()) return message;
    if (given[0] == Py_None) timeout = (struct timeout){.seconds = -1, .deadline_ns = SLIPRING_FOREVER};
    return subscriber_recv_until((Subscriber *)object, &timeout, NULL, NULL, true);
}

PyObject *subscriber_recv_into(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv_into", 2, 1, {"buffer", "timeout"}, {NULL}};
    PyObject *given[2] = {NULL, Py_None};
    struct timeout timeout;
    Py_buffer view;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (!timeout_parse(given[1], &timeout)) return NULL;
    if (!buffer_get_target(given[0], &view)) return NULL;
    PyObject *message = subscriber_recv_until((Subscriber *)object, &timeout, &view, given[0], false);
    PyBuffer_Release(&view);
    return message;
}

PyObject *subscriber_next(PyObject *object) {
    Subscriber *self = (Subscriber *)object;
    PyObject *message = recv_now(self);
    if (!message && !PyErr_Occurred()) {
        struct timeout forever = {.seconds = -1, .deadline_ns = SLIPRING_FOREVER};
        message = subscriber_recv_until(self, &forever, NULL, NULL, true);
    }
    /* Closing ends the iteration. */
    if (!message && self->handle.closing && (SLR_DEFECT(interrupt_ends_iteration) || closed_is_raised())) PyErr_Clear();
    return message;
}

PyObject *subscriber_iter(PyObject *self) {
    Py_INCREF(self);
    return self;
}

/* Many ------------------------------------------------------------------------------------------------------ */

#define AT_ONCE 128

struct run {
    Subscriber *self;
    PyObject *messages[AT_ONCE];
    size_t count;
};

/* False: the message is not part of the run, or there is no memory; recv then handles it, or fails again. */
static bool take(void *context, const slipring_message *m) {
    struct run *run = context;
    Subscriber *self = run->self;
    if (m->size >= LARGE_COPY || !names_are(&self->names, m)) return false;
    PyObject *body = PyBytes_FromStringAndSize(NULL, m->size), *message = NULL;
    if (body) {
        slipring_copy(bytes_data(body), m->body, m->size);
        message = message_new(body, self->names.sender, self->names.type, self->topic, self->decoder, m->seq, m->time_ns);
    }
    if (!message) {
        PyErr_Clear();
        return false;
    }
    run->messages[run->count++] = message;
    return true;
}

/* The number of messages, or -1 with an exception. */
static __attribute__((flatten)) Py_ssize_t append_run(Subscriber *self, PyObject *list, size_t limit) {
    struct run run; /* not cleared: that would cost as much as a few messages */
    run.self = self;
    run.count = 0;
    size_t taken = 0;
    bool failed = false;
    slipring_subscriber_drain(self->sub, limit < AT_ONCE ? limit : AT_ONCE, take, &run, &taken);
    for (size_t i = 0; i < run.count; i++) { /* beyond `taken`: a message that was overwritten meanwhile */
        if (i < taken && !failed) failed = PyList_Append(list, run.messages[i]);
        Py_DECREF(run.messages[i]);
    }
    return failed ? -1 : (Py_ssize_t)taken;
}

/* OK or a code; 1 with an exception. */
static int append_next(Subscriber *self, PyObject *list) {
    PyObject *message;
    int code = try_recv(self, NULL, NULL, &message);
    if (code) return code;
    int failed = PyList_Append(list, message);
    Py_DECREF(message);
    return failed ? 1 : SLIPRING_OK;
}

/* Appends what follows the first message. False with an exception to raise. A code of the core does not raise: the messages
 * received so far are returned, and the next call meets the error again. */
static bool append_rest(Subscriber *self, PyObject *list, Py_ssize_t limit) {
    if (self->handle.closing) return true; /* another thread closed it meanwhile */
    if (!subscriber_enter(self)) return false;
    Py_ssize_t count = 1, run;
    int code = SLIPRING_OK;
    while (code == SLIPRING_OK && count < limit) {
        run = append_run(self, list, (size_t)(limit - count));
        if (run < 0) code = 1;
        if (run > 0) count += run;
        if (run != 0) continue;
        code = append_next(self, list);
        count++;
    }
    subscriber_leave(self);
    return code != 1 || !PyErr_Occurred();
}

PyObject *subscriber_recv_many(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"recv_many", 2, 0, {"n", "timeout"}, {NULL}};
    Subscriber *self = (Subscriber *)object;
    PyObject *given[2] = {NULL, NULL};
    struct timeout timeout = {.never_waits = true};
    Py_ssize_t limit = 1024;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (given[1] && !timeout_parse(given[1], &timeout)) return NULL;
    if (given[0]) limit = PyNumber_AsSsize_t(given[0], NULL); /* larger numbers are cut to the largest possible */
    if (limit < 0) {
        if (PyErr_Occurred()) return NULL;
        return raise_bad_argument("n", "n=%.100R must be at least 0", given[0]);
    }
    PyObject *list = PyList_New(0);
    if (!list || limit == 0) return list;
    PyObject *message = subscriber_recv_until(self, &timeout, NULL, NULL, false);
    bool done = message == Py_None || (message && !PyList_Append(list, message) && append_rest(self, list, limit));
    Py_XDECREF(message);
    if (done) return list;
    Py_DECREF(list);
    return NULL;
}
