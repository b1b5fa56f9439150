/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscriber. It may be created before its topic exists; it attaches when the topic appears.
 */
#include "native.h"

#include <errno.h>
#include <string.h>
#include <time.h>

PyTypeObject *subscriber_type;

#define FIRST_LOOK_MS 1
#define LAST_LOOK_MS 20

/* Life ------------------------------------------------------------------------------------------------------ */

#define MAX_TEXTS 64
struct texts {
    slipring_text list[MAX_TEXTS];
    size_t count;
};

static bool texts_parse(PyObject *tuple, const char *argument, struct texts *out) {
    out->count = (size_t)PyTuple_Size(tuple);
    if (out->count > MAX_TEXTS) {
        raise_bad_argument(argument, "%s has %zu entries: at most %d are allowed", argument, out->count, MAX_TEXTS);
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        Py_ssize_t size;
        if (!text_get(PyTuple_GetItem(tuple, (Py_ssize_t)i), argument, &out->list[i].data, &size)) return false;
        out->list[i].size = (size_t)size;
    }
    return true;
}

static int get_schema(const void *sub, void *buffer, size_t room, size_t *size) {
    return slipring_subscriber_schema(sub, buffer, room, size);
}

/* A Decoder or None, or NULL with an exception: the schema, NULL for none, is damaged or not one that this subscriber can read. */
static PyObject *make_decoder(Subscriber *self, PyObject *schema) {
    PyObject *decoder = PyObject_CallFunctionObjArgs(self->reading, self->topic, schema ? schema : Py_None, NULL);
    if (decoder && decoder != Py_None && !decoder_check(decoder)) {
        raise_wrong_type("reading", "a function that returns a Decoder or None", decoder);
        Py_CLEAR(decoder);
    }
    return decoder;
}

static int inspected_schema(const void *inspector, void *buffer, size_t room, size_t *size) {
    return slipring_inspector_schema(inspector, buffer, room, size);
}

/* Opening makes a missing cursor. So a topic that this subscriber cannot read is refused before. */
static bool check_schema(Subscriber *self) {
    slipring_inspector *inspector;
    PyObject *schema, *decoder = NULL;
    if (slipring_inspector_open(self->bus_path, self->topic_name, &inspector)) return true; /* opening will report it */
    if (schema_get(inspected_schema, inspector, &schema)) {
        decoder = make_decoder(self, schema);
        Py_XDECREF(schema);
    }
    slipring_inspector_close(inspector);
    Py_XDECREF(decoder);
    return decoder != NULL;
}

/* False with an exception: as make_decoder. */
static bool read_schema(Subscriber *self, slipring_subscriber *sub) {
    PyObject *schema, *decoder = NULL;
    if (!schema_get(get_schema, sub, &schema)) return false;
    if (self->reading != Py_None) {
        if (!(decoder = make_decoder(self, schema))) {
            Py_XDECREF(schema);
            return false;
        }
        if (decoder == Py_None) Py_CLEAR(decoder);
    }
    Py_XDECREF(self->schema);
    Py_XDECREF(self->decoder);
    self->schema = schema;
    self->decoder = decoder;
    return true;
}

/* arguments: (start, start_seq, lossy, conflate, cursor, expires_ns, types, ignore_types, ignore_senders, own) */
static int open_topic(Subscriber *self, bool topic_is_new) {
    slipring_subscriber_settings how = {0};
    slipring_filter filter = {0};
    unsigned long long start_seq;
    long long expires_ns;
    int conflate, start;
    PyObject *types, *ignore_types, *ignore_senders, *own;
    if (!PyArg_ParseTuple(self->arguments, "iKipzLOO!O!O", &start, &start_seq, &how.lossy, &conflate, &how.cursor,
                          &expires_ns, &types, &PyTuple_Type, &ignore_types, &PyTuple_Type, &ignore_senders, &own))
        return -1;
    struct texts only = {.count = 0}, not_types, not_senders;
    if ((types != Py_None && !texts_parse(types, "types", &only)) ||
        !texts_parse(ignore_types, "ignore_types", &not_types) ||
        !texts_parse(ignore_senders, "ignore_senders", &not_senders))
        return -1;
    filter = (slipring_filter){.types = only.list,
                               .type_count = only.count,
                               .only_types = types != Py_None,
                               .ignore_types = not_types.list,
                               .ignore_type_count = not_types.count,
                               .ignore_senders = not_senders.list,
                               .ignore_sender_count = not_senders.count};
    unsigned long long since;
    if (own != Py_None) {
        if (!PyArg_ParseTuple(own, "IK", &filter.own_entry, &since)) return -1;
        filter.ignore_own = !SLR_DEFECT(own_messages_delivered);
        filter.own_since = since;
    }
    /* All messages of a new topic are newer than this subscription. Reading starts at 0; overwritten messages count as lost. */
    bool everything = topic_is_new && start != SLIPRING_START_SEQ;
    how.start = everything ? SLIPRING_START_SEQ : start;
    if (SLR_DEFECT(missed_before_attach_not_counted) && everything) how.start = SLIPRING_START_OLDEST;
    how.start_seq = everything ? 0 : start_seq;
    how.conflate = conflate != 0;
    how.expires_ns = expires_ns;
    how.filter = &filter;
    int code = SLIPRING_OK;
    slipring_subscriber *sub = NULL;
    const char *bus_path = self->bus_path, *topic = self->topic_name;
    PyThreadState *state = handle_release_gil(&self->handle); /* it stays busy, so that no other thread attaches meanwhile */
    bool readable = true;
    if (how.cursor && self->reading != Py_None) {
        PyEval_RestoreThread(state);
        readable = check_schema(self);
        state = PyEval_SaveThread();
    }
    if (readable) code = slipring_subscriber_open(bus_path, topic, &how, &sub);
    if (readable && code == SLIPRING_OK) {
        PyEval_RestoreThread(state);
        readable = read_schema(self, sub);
        state = PyEval_SaveThread();
        if (!readable) slipring_subscriber_close(sub);
    }
    handle_retake_gil(&self->handle, state);
    if (!readable) return -1;
    if (code == SLIPRING_NOT_FOUND) return 0;
    if (code) {
        raise_code_at(code, bus_path);
        return -1;
    }
    if (self->handle.closing) /* another thread closed it meanwhile */
        slipring_subscriber_close(sub);
    else
        self->sub = sub;
    return 1;
}

/* 1, 0 if the topic does not exist yet, -1 with an exception. One thread at a time: a second thread would find the cursor or
 * the entry of the first in use. */
static COLD int attach(Subscriber *self, bool topic_is_new) {
    if (!SLR_DEFECT(threads_attach_side_by_side)) handle_lock(&self->handle);
    int found = self->sub ? 1 : open_topic(self, topic_is_new);
    handle_unlock(&self->handle);
    return found;
}

static char *copy_text(const char *text) {
    char *copy = PyMem_Malloc(strlen(text) + 1);
    if (!copy)
        PyErr_NoMemory();
    else
        strcpy(copy, text);
    return copy;
}

static PyObject *subscriber_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus_path, *topic_name;
    PyObject *topic, *arguments, *reading = Py_None;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "sUO!|O:Subscriber", &bus_path, &topic, &PyTuple_Type, &arguments, &reading)) return NULL;
    Py_ssize_t size;
    if (!(topic_name = PyUnicode_AsUTF8AndSize(topic, &size))) return NULL;
    Subscriber *self = (Subscriber *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    self->spin_us = DEFAULT_SPIN_US;
    self->last_counts.entry = -1;
    Py_INCREF(topic);
    Py_INCREF(arguments);
    self->topic = topic;
    self->arguments = arguments;
    Py_INCREF(reading);
    self->reading = reading;
    if (!handle_init(&self->handle) || !(self->bus_path = copy_text(bus_path)) ||
        !(self->topic_name = copy_text(topic_name)) || attach(self, false) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void subscriber_dealloc(PyObject *object) {
    Subscriber *self = (Subscriber *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->sub) slipring_subscriber_close(self->sub);
    handle_clear(&self->handle);
    PyMem_Free(self->bus_path);
    PyMem_Free(self->topic_name);
    Py_XDECREF(self->topic);
    Py_XDECREF(self->arguments);
    Py_XDECREF(self->reading);
    Py_XDECREF(self->schema);
    Py_XDECREF(self->decoder);
    names_clear(&self->names);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

bool subscriber_enter(Subscriber *self) {
    if (self->handle.closing) {
        raise_closed("subscriber");
        return false;
    }
    if (!self->sub && attach(self, true) < 0) return false;
    self->handle.users++;
    handle_lock(&self->handle);
    return true;
}

static COLD void close_core(Subscriber *self) {
    if (!self->sub) return;
    slipring_subscriber_counts(self->sub, &self->last_counts);
    slipring_subscriber_close(self->sub);
    self->sub = NULL;
}

void subscriber_unpin(Subscriber *self) {
    self->handle.users--;
    if (self->handle.closing && self->handle.users == 0) close_core(self);
}

void subscriber_leave(Subscriber *self) {
    handle_unlock(&self->handle);
    subscriber_unpin(self);
}

static PyObject *subscriber_close(PyObject *object, PyObject *ignored) {
    Subscriber *self = (Subscriber *)object;
    (void)ignored;
    if (self->handle.closing) Py_RETURN_NONE;
    self->handle.closing = true;
    if (self->sub) slipring_subscriber_interrupt(self->sub);
    self->handle.users++;
    subscriber_unpin(self);
    Py_RETURN_NONE;
}

/* Waiting --------------------------------------------------------------------------------------------------- */

/* Waits for the topic to appear. There is no futex to sleep on yet, so it checks at growing intervals. */
static int wait_for_topic(Subscriber *self, int64_t deadline_ns) {
    for (int pause_ms = FIRST_LOOK_MS; !self->sub; pause_ms = pause_ms < LAST_LOOK_MS ? pause_ms * 2 : LAST_LOOK_MS) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        if (now_ns >= deadline_ns) return 0;
        int64_t pause_ns = pause_ms * INT64_C(1000000);
        if (pause_ns > deadline_ns - now_ns) pause_ns = deadline_ns - now_ns;
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals()) return -1;
        if (self->handle.closing) {
            raise_closed("subscriber");
            return -1;
        }
        if (attach(self, true) < 0) return -1;
    }
    return 1;
}

int subscriber_wait(Subscriber *self, struct timeout *timeout) {
    if (timeout->never_waits) return 0;
    int64_t deadline = timeout_deadline(timeout);
    int code;
    handle_unlock(&self->handle);
    if (!self->sub) {
        int found = wait_for_topic(self, deadline);
        handle_lock(&self->handle);
        return found;
    }
    int64_t spin_ns = (int64_t)(self->spin_us * 1000);
    Py_BEGIN_ALLOW_THREADS
    code = slipring_wait(&self->sub, 1, NULL, 0, deadline, spin_ns);
    Py_END_ALLOW_THREADS
    bool failed = code && code != SLIPRING_INTERRUPTED, raised = !failed && PyErr_CheckSignals();
    if (SLR_DEFECT(signals_do_not_end_a_wait)) raised = false;
    handle_lock(&self->handle);
    if (raised) return -1;
    if (self->handle.closing && !SLR_DEFECT(closing_does_not_end_a_wait)) {
        raise_closed("subscriber");
        return -1;
    }
    if (code == SLIPRING_TIMEOUT) return 0;
    if (failed) raise_code(code);
    return failed ? -1 : 1;
}

/* Whether recv(0) would return a message; attaches if the topic has appeared. */
static PyObject *subscriber_ready(PyObject *object, PyObject *ignored) {
    Subscriber *self = (Subscriber *)object;
    (void)ignored;
    if (!subscriber_enter(self)) return NULL;
    slipring_message m;
    int code = self->sub ? slipring_subscriber_peek(self->sub, &m) : SLIPRING_EMPTY;
    subscriber_leave(self);
    if (code && code != SLIPRING_EMPTY) return raise_code(code);
    return PyBool_FromLong(code == SLIPRING_OK);
}

/* Position -------------------------------------------------------------------------------------------------- */

static PyObject *subscriber_seek(PyObject *object, PyObject *args) {
    Subscriber *self = (Subscriber *)object;
    int start;
    unsigned long long seq;
    if (!PyArg_ParseTuple(args, "iK", &start, &seq) || !subscriber_enter(self)) return NULL;
    int code = self->sub ? slipring_subscriber_seek(self->sub, start, seq) : SLIPRING_OK;
    subscriber_leave(self);
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

static PyObject *subscriber_commit(PyObject *object, PyObject *args) {
    Subscriber *self = (Subscriber *)object;
    PyObject *seq = Py_None;
    if (!PyArg_ParseTuple(args, "|O:commit", &seq)) return NULL;
    unsigned long long position = seq == Py_None ? 0 : PyLong_AsUnsignedLongLong(seq);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        return raise_bad_argument("seq", "seq=%.100R must be at least 0 and below 2**64", seq);
    }
    if (PyErr_Occurred() || !subscriber_enter(self)) return NULL;
    slipring_counts counts;
    int code = SLIPRING_OK;
    if (self->sub) {
        slipring_subscriber_counts(self->sub, &counts);
        code = slipring_subscriber_commit(self->sub, seq == Py_None ? counts.position : position);
    }
    subscriber_leave(self);
    if (code) return raise_code(code);
    Py_RETURN_NONE;
}

/* (received, lost, filtered, position, tail, entry, reliable); zero before the topic exists */
static PyObject *subscriber_counts(PyObject *object, PyObject *ignored) {
    Subscriber *self = (Subscriber *)object;
    slipring_counts c = self->last_counts;
    (void)ignored;
    if (self->sub) {
        self->handle.users++; /* also while it is being closed */
        handle_lock(&self->handle);
        slipring_subscriber_counts(self->sub, &c);
        subscriber_leave(self);
    }
    return Py_BuildValue("KKKKKiN", (unsigned long long)c.received, (unsigned long long)c.lost,
                         (unsigned long long)c.filtered, (unsigned long long)c.position, (unsigned long long)c.tail, c.entry,
                         PyBool_FromLong(c.reliable));
}

static PyObject *get_closed(PyObject *object, void *ignored) {
    (void)ignored;
    return PyBool_FromLong(((Subscriber *)object)->handle.closing);
}

static PyObject *get_attached(PyObject *object, void *ignored) {
    (void)ignored;
    return PyBool_FromLong(((Subscriber *)object)->sub != NULL);
}

static PyMemberDef subscriber_members[] = {
    {"topic", T_OBJECT_EX, offsetof(Subscriber, topic), READONLY, NULL},
    {"_schema", T_OBJECT, offsetof(Subscriber, schema), READONLY, NULL},
    {"_decoder", T_OBJECT, offsetof(Subscriber, decoder), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyObject *get_spin_us(PyObject *object, void *ignored) {
    (void)ignored;
    return PyFloat_FromDouble(((Subscriber *)object)->spin_us);
}

static int set_spin_us(PyObject *object, PyObject *value, void *ignored) {
    (void)ignored;
    double us = value ? PyFloat_AsDouble(value) : -1;
    if (us == -1 && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) raise_wrong_type("spin_us", "a number of microseconds", value);
        return -1;
    }
    PyErr_Clear();
    if (!(us >= 0)) {
        if (value) raise_bad_argument("spin_us", "spin_us=%.100R must be at least 0 and fit a float", value);
        else raise_bad_argument("spin_us", "spin_us cannot be deleted: set a number of microseconds");
        return -1;
    }
    ((Subscriber *)object)->spin_us = us < LONGEST_SPIN_US ? us : LONGEST_SPIN_US;
    return 0;
}

static PyGetSetDef subscriber_getset[] = {{"closed", get_closed, NULL, NULL, NULL},
                                          {"spin_us", get_spin_us, set_spin_us,
                                           "microseconds of spinning before sleeping, at most 10 s; 0 sleeps at once", NULL},
                                          {"attached", get_attached, NULL, "whether the subscriber is attached, because its topic exists", NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

#define FASTCALL(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef subscriber_methods[] = {
    GENERIC,
    {"recv", FASTCALL(subscriber_recv),
     "recv($self, /, timeout=None)\n--\n\nReturn the next message, or None after timeout seconds."},
    {"recv_into", FASTCALL(subscriber_recv_into),
     "recv_into($self, /, buffer, timeout=None)\n--\n\n"
     "Return the next message, its body copied into buffer, or None after timeout seconds."},
    {"recv_many", FASTCALL(subscriber_recv_many),
     "recv_many($self, /, n=1024, timeout=0)\n--\n\nReturn up to n messages; wait at most timeout seconds for the first."},
    {"_recv_batch", FASTCALL(subscriber_recv_batch), NULL},
    {"view", FASTCALL(subscriber_view),
     "view($self, /, timeout=None)\n--\n\nReturn a context manager: the next message in place, held until exit."},
    {"close", subscriber_close, METH_NOARGS, "close($self, /)\n--\n\nDetach; waits end with Closed."},
    {"_ready", subscriber_ready, METH_NOARGS, NULL},
    {"_seek", subscriber_seek, METH_VARARGS, NULL},
    {"commit", subscriber_commit, METH_VARARGS,
     "commit($self, seq=None, /)\n--\n\nMove the cursor to seq, or past everything received."},
    {"_counts", subscriber_counts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot subscriber_slots[] = {{Py_tp_new, subscriber_new},         {Py_tp_dealloc, subscriber_dealloc},
                                         {Py_tp_methods, subscriber_methods}, {Py_tp_members, subscriber_members},
                                         {Py_tp_getset, subscriber_getset},   {Py_tp_iter, subscriber_iter},
                                         {Py_tp_iternext, subscriber_next},   {0, NULL}};
static PyType_Spec subscriber_spec = {.name = "slipring._native.Subscriber",
                                      .basicsize = sizeof(Subscriber),
                                      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                      .slots = subscriber_slots};

bool subscriber_type_ready(PyObject *module) { return (subscriber_type = add_type(module, &subscriber_spec)) != NULL; }
