/* SPDX-License-Identifier: Apache-2.0
 *
 * recv_many: what is there, into a list of Message objects.
 *
 * The first one is waited for as recv does. A run of messages with the same names as the last one is shown by the core one
 * after the other, and publishers are told of all of them at once. Whatever else comes next, other names, something large, an
 * error, goes the way of recv; then there may be another run.
 */
#include "native.h"

#define AT_ONCE 128

struct run {
    Subscriber *self;
    PyObject *messages[AT_ONCE];
    size_t count;
};

/* False: not one for a run, or no memory, which the way of recv will meet again. */
static bool take(void *context, const slipring_message *m) {
    struct run *run = context;
    Subscriber *self = run->self;
    if (m->size >= LARGE_COPY || !names_are(&self->names, m)) return false;
    PyObject *body = PyBytes_FromStringAndSize(NULL, m->size), *message = NULL;
    if (body) {
        slipring_copy(bytes_data(body), m->body, m->size);
        message = message_new(body, self->names.sender, self->names.type, self->topic, m->seq, m->time_ns);
    }
    if (!message) {
        PyErr_Clear();
        return false;
    }
    run->messages[run->count++] = message;
    return true;
}

/* How many, or -1 with an exception. */
static __attribute__((flatten)) Py_ssize_t append_run(Subscriber *self, PyObject *list, size_t limit) {
    struct run run; /* its messages are not cleared: that would take as long as a few of them */
    run.self = self;
    run.count = 0;
    size_t taken = 0;
    bool failed = false;
    slipring_subscriber_drain(self->sub, limit < AT_ONCE ? limit : AT_ONCE, take, &run, &taken);
    for (size_t i = 0; i < run.count; i++) { /* beyond `taken`, one that was overwritten meanwhile */
        if (i < taken && !failed) failed = PyList_Append(list, run.messages[i]);
        Py_DECREF(run.messages[i]);
    }
    return failed ? -1 : (Py_ssize_t)taken;
}

/* OK, or what came in its way; 1: with an exception. */
static int append_next(Subscriber *self, PyObject *list) {
    PyObject *message;
    int code = subscriber_try_recv(self, NULL, NULL, &message);
    if (code) return code;
    int failed = PyList_Append(list, message);
    Py_DECREF(message);
    return failed ? 1 : SLIPRING_OK;
}

/* What follows the first one. False with an exception that is to be raised: what was received is not thrown away for what
 * came after it, and that error comes again next time. */
static bool append_rest(Subscriber *self, PyObject *list, Py_ssize_t limit) {
    if (self->handle.closing) return true; /* meanwhile, by another thread */
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
    if (given[0]) limit = PyNumber_AsSsize_t(given[0], NULL); /* more than there can be: all there are */
    if (limit < 0) {
        if (PyErr_Occurred()) return NULL;
        return raise_bad_argument("n", "n must be at least 0");
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
