/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hot_path.h"
#include "native.h"

PyTypeObject *publisher_type;

bool publisher_enter(Publisher *self) {
    if (!self->pub || self->handle.closing) {
        raise_closed("publisher");
        return false;
    }
    self->handle.users++;
    handle_lock(&self->handle);
    return true;
}

static COLD void close_core(Publisher *self) {
    if (self->pub) slipring_publisher_close(self->pub);
    self->pub = NULL;
}

static void close_if_unused(Publisher *self) {
    if (self->handle.closing && self->handle.users == 0) close_core(self);
}

void publisher_unpin(Publisher *self) {
    self->handle.users--;
    close_if_unused(self);
}

void publisher_leave(Publisher *self) {
    handle_unlock(&self->handle);
    publisher_unpin(self);
}

static int get_schema(const void *pub, void *buffer, size_t room, size_t *size) {
    return slipring_publisher_schema(pub, buffer, room, size);
}

static PyObject *publisher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus_path, *sender, *topic_name;
    PyObject *topic, *sender_object, *settings_dict;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "sUUO!:Publisher", &bus_path, &topic, &sender_object, &PyDict_Type, &settings_dict))
        return NULL;
    Py_ssize_t size;
    slipring_settings settings;
    if (!text_get(topic, "topic", &topic_name, &size) || !text_get(sender_object, "sender", &sender, &size) ||
        !settings_parse(settings_dict, &settings))
        return NULL;
    Publisher *self = (Publisher *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    int code = SLIPRING_OK;
    if (handle_init(&self->handle)) {
        Py_BEGIN_ALLOW_THREADS
        code = slipring_publisher_open(bus_path, topic_name, sender, (size_t)size, &settings, &self->pub);
        Py_END_ALLOW_THREADS
        if (code) {
            self->pub = NULL;
            raise_code_at(code, bus_path);
        }
    }
    if (PyErr_Occurred() || !schema_get(get_schema, self->pub, &self->schema)) {
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(topic);
    Py_INCREF(sender_object);
    self->topic = topic;
    self->sender = sender_object;
    return (PyObject *)self;
}

static void publisher_dealloc(PyObject *object) {
    Publisher *self = (Publisher *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->pub) slipring_publisher_close(self->pub);
    handle_clear(&self->handle);
    Py_XDECREF(self->topic);
    Py_XDECREF(self->sender);
    Py_XDECREF(self->schema);
    Py_XDECREF(self->codec);
    Py_XDECREF(self->encode.object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

int publisher_wait(Publisher *self, struct timeout *timeout) {
    int code;
    int64_t deadline = timeout_deadline(timeout);
    handle_unlock(&self->handle); /* a wait only reads: other threads may send meanwhile */
    Py_BEGIN_ALLOW_THREADS
    code = slipring_publisher_wait_space(self->pub, deadline);
    Py_END_ALLOW_THREADS
    /* Signals may also arrive while this thread is awake. */
    bool failed = code && code != SLIPRING_INTERRUPTED, raised = !failed && PyErr_CheckSignals();
    handle_lock(&self->handle);
    if (raised) return -1;
    if (self->handle.closing) {
        raise_closed("publisher");
        return -1;
    }
    if (code == SLIPRING_TIMEOUT) return 0;
    if (failed) raise_code(code);
    return failed ? -1 : 1;
}

bool publisher_timeout(Publisher *self, PyObject *given, struct timeout *out) {
    if (given) return timeout_parse(given, out);
    *out = (struct timeout){.seconds = -1, .deadline_ns = SLIPRING_FOREVER};
    out->never_waits = !slipring_publisher_reliable(self->pub);
    return true;
}

struct sending {
    struct body body;
    const char *type, *sender; /* sender NULL: the publisher's */
    Py_ssize_t type_size, sender_size;
    int64_t time_ns; /* 0: now */
};

static int core_send(Publisher *self, const struct sending *m, uint64_t *seq) {
    size_t size = (size_t)m->body.size, type_size = (size_t)m->type_size;
    if (!m->sender) return slipring_publisher_send(self->pub, m->body.data, size, m->type, type_size, SLIPRING_NOW, seq);
    return slipring_publisher_send_as(self->pub, m->body.data, size, m->type, type_size, m->sender, (size_t)m->sender_size,
                                      m->time_ns, SLIPRING_NOW, seq);
}

static int try_send(Publisher *self, const struct sending *m, uint64_t *seq) {
    if (m->body.size < LARGE_COPY) return core_send(self, m, seq);
    PyThreadState *state = handle_release_gil(&self->handle);
    int code = core_send(self, m, seq);
    handle_retake_gil(&self->handle, state);
    return code;
}

/* Faster for integers of one digit, which most sequences are. */
static PyObject *sequence(uint64_t seq) {
    return seq < 1 << 30 ? PyLong_FromLong((long)seq) : PyLong_FromUnsignedLongLong(seq);
}

/* For an entered publisher, with the body acquired: the sequence, or NULL with an exception. */
static PyObject *send_until(Publisher *self, const struct sending *m, struct timeout *timeout) {
    uint64_t seq;
    if (!SLR_DEFECT(arguments_let_threads_in)) handle_relock(&self->handle); /* body and timeout may have run Python code */
    for (;;) {
        int code = try_send(self, m, &seq);
        if (code == SLIPRING_OK) return sequence(seq);
        if (code != SLIPRING_FULL || timeout->never_waits) return raise_unsent(self, code);
        int again = publisher_wait(self, timeout);
        if (again < 0) return NULL;
        if (again == 0) return raise_unsent(self, code);
    }
}

/* The usual case: a bytes object, and room in the ring. NULL without an exception: no room. */
static SLR_ALWAYS_INLINE PyObject *send_bytes_now(Publisher *self, PyObject *bytes, PyObject *type_text) {
    uint64_t seq;
    PyObject *sent = NULL;
    const char *type;
    Py_ssize_t type_size;
    if (!publisher_enter(self)) return NULL;
    if (type_text && !text_get(type_text, "type", &type, &type_size)) {
        publisher_leave(self);
        return NULL;
    }
    const void *body = bytes_data(bytes);
    size_t size = bytes_size(bytes);
    /* Two calls, so that the compiler can drop the handling of types from the second. */
    int code = type_text ? slipring_publisher_send(self->pub, body, size, type, (size_t)type_size, SLIPRING_NOW, &seq)
                         : slipring_publisher_send(self->pub, body, size, "", 0, SLIPRING_NOW, &seq);
    if (code == SLIPRING_OK)
        sent = sequence(seq);
    else if (code != SLIPRING_FULL)
        raise_code(code);
    publisher_leave(self);
    return sent;
}

/* body, type and timeout are objects of any type, the last two NULL if not given. Waits for room. */
static COLD PyObject *send_anything(Publisher *self, PyObject *const *given) {
    struct sending m;
    struct timeout timeout;
    PyObject *seq = NULL;
    if (!publisher_enter(self)) return NULL;
    m.sender = NULL;
    if (text_get(given[1], "type", &m.type, &m.type_size) && publisher_timeout(self, given[2], &timeout) &&
        body_get(given[0], &m.body)) {
        seq = send_until(self, &m, &timeout);
        body_release(&m.body);
    }
    publisher_leave(self);
    return seq;
}

static SLR_ALWAYS_INLINE PyObject *send_body(Publisher *self, PyObject *const *given) {
    if (PyBytes_CheckExact(given[0]) && bytes_size(given[0]) < LARGE_COPY && !given[2]) {
        PyObject *sent = send_bytes_now(self, given[0], given[1]);
        if (sent || PyErr_Occurred()) return sent;
    }
    return send_anything(self, given);
}

/* Apart from publisher_send, which has a copy of the hot path of its own: messages of untyped topics pay for no call. */
static SLR_NOINLINE __attribute__((flatten)) PyObject *send_encoded(Publisher *self, PyObject *const *given) {
    return send_body(self, given);
}

static COLD PyObject *wrong_value(Publisher *self) {
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);
    PyObject *locate = PyObject_GetAttrString(self->codec, "locate");
    if (locate) {
        PyErr_Restore(kind, error, trace);
        locate_error(locate, self->topic, Py_None);
        Py_DECREF(locate);
        return NULL;
    }
    Py_XDECREF(kind);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return NULL;
}

static COLD bool find_encode(Publisher *self) {
    PyObject *encode = PyObject_GetAttrString(self->codec, "encode");
    if (encode && !self->encode.object) function_set(&self->encode, encode); /* else another thread was faster */
    Py_XDECREF(encode);
    return encode;
}

/* Encodes the value first: a wrong one raises before anything is claimed. */
static SLR_NOINLINE PyObject *send_value(Publisher *self, PyObject *const *given) {
    if (!self->encode.object && !find_encode(self)) return NULL;
    PyObject *body = function_call(&self->encode, given[0]);
    if (!body) return wrong_value(self);
    PyObject *encoded[3] = {body, given[1], given[2]};
    PyObject *sent = send_encoded(self, encoded);
    Py_DECREF(body);
    return sent;
}

static __attribute__((flatten)) PyObject *publisher_send(PyObject *object, PyObject *const *args, Py_ssize_t nargs,
                                                         PyObject *kwnames) {
    static struct signature signature = {"send", 3, 1, {"body", "type", "timeout"}, {NULL}};
    PyObject *given[3] = {nargs ? args[0] : NULL, NULL, NULL};
    if ((nargs != 1 || kwnames) && !arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    if (((Publisher *)object)->codec) return send_value((Publisher *)object, given);
    return send_body((Publisher *)object, given);
}

static PyObject *publisher_send_raw(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"send_raw", 3, 1, {"body", "type", "timeout"}, {NULL}};
    PyObject *given[3] = {NULL, NULL, NULL};
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    return send_encoded((Publisher *)object, given);
}

/* codec.name(publisher, the arguments of the call) */
PyObject *publisher_call_codec(Publisher *self, const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *method = PyObject_GetAttrString(self->codec, name), *positions = PyTuple_New(nargs + 1), *names = NULL, *result = NULL;
    Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0;
    if (method && positions && (named == 0 || (names = PyDict_New()))) {
        bool ready = true;
        for (Py_ssize_t i = -1; i < nargs; i++) {
            PyObject *item = i < 0 ? (PyObject *)self : args[i];
            Py_INCREF(item);
            ready = PyTuple_SetItem(positions, i + 1, item) == 0 && ready;
        }
        for (Py_ssize_t i = 0; i < named; i++) ready = ready && PyDict_SetItem(names, PyTuple_GetItem(kwnames, i), args[nargs + i]) == 0;
        if (ready) result = PyObject_Call(method, positions, names);
    }
    Py_XDECREF(method);
    Py_XDECREF(positions);
    Py_XDECREF(names);
    return result;
}

/* _send_as(body, type, sender, time_ns, timeout): sends a message in the name of another sender. */
static PyObject *publisher_send_as(PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static struct signature signature = {"_send_as", 5, 4, {"body", "type", "sender", "time_ns", "timeout"}, {NULL}};
    Publisher *self = (Publisher *)object;
    PyObject *given[5] = {NULL, NULL, NULL, NULL, NULL};
    struct sending m;
    struct timeout timeout;
    PyObject *seq = NULL;
    if (!arguments_get(&signature, args, nargs, kwnames, given)) return NULL;
    m.time_ns = PyLong_AsLongLong(given[3]);
    if (m.time_ns == -1 && PyErr_Occurred()) return NULL;
    if (!publisher_enter(self)) return NULL;
    if (text_get(given[1], "type", &m.type, &m.type_size) && text_get(given[2], "sender", &m.sender, &m.sender_size) &&
        publisher_timeout(self, given[4], &timeout) && body_get(given[0], &m.body)) {
        seq = send_until(self, &m, &timeout);
        body_release(&m.body);
    }
    publisher_leave(self);
    return seq;
}

/* For a loan, with an entered publisher: 0, or -1 with an exception. */
int publisher_claim(Publisher *self, size_t size, PyObject *type_text, PyObject *timeout_value, slipring_claim *out) {
    const char *type;
    Py_ssize_t type_size;
    struct timeout timeout;
    int code = SLIPRING_OK, again = 1;
    if (!text_get(type_text, "type", &type, &type_size) || !publisher_timeout(self, timeout_value, &timeout)) return -1;
    handle_relock(&self->handle);
    while (again > 0) {
        code = slipring_publisher_claim(self->pub, size, type, (size_t)type_size, SLIPRING_NOW, out);
        if (code != SLIPRING_FULL || timeout.never_waits) break;
        again = publisher_wait(self, &timeout);
    }
    if (code && again >= 0) raise_unsent(self, code);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *publisher_close(PyObject *object, PyObject *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    if (self->pub && !self->handle.closing) {
        self->handle.closing = true;
        slipring_publisher_interrupt(self->pub);
        close_if_unused(self);
    }
    Py_RETURN_NONE;
}

static PyObject *publisher_subscribers(PyObject *object, PyObject *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    if (!publisher_enter(self)) return NULL;
    int count = slipring_publisher_subscribers(self->pub);
    publisher_leave(self);
    return count < 0 ? raise_code(count) : PyLong_FromLong(count);
}

static PyObject *publisher_max_subscribers(PyObject *object, PyObject *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    if (!publisher_enter(self)) return NULL;
    uint32_t most = slipring_publisher_max_subscribers(self->pub);
    publisher_leave(self);
    return PyLong_FromUnsignedLong(most);
}

static PyObject *publisher_entry(PyObject *object, PyObject *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    if (!publisher_enter(self)) return NULL;
    uint64_t since;
    uint32_t entry = slipring_publisher_entry(self->pub, &since);
    publisher_leave(self);
    return Py_BuildValue("IK", entry, (unsigned long long)since);
}

static PyObject *publisher_closed(PyObject *object, void *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    return PyBool_FromLong(!self->pub || self->handle.closing);
}

static PyObject *get_codec(PyObject *object, void *ignored) {
    (void)ignored;
    PyObject *codec = ((Publisher *)object)->codec ? ((Publisher *)object)->codec : Py_None;
    Py_INCREF(codec);
    return codec;
}

/* Once, before the publisher is handed out. */
static int set_codec(PyObject *object, PyObject *codec, void *ignored) {
    Publisher *self = (Publisher *)object;
    (void)ignored;
    if (!codec || self->codec) {
        PyErr_SetString(PyExc_AttributeError, "the codec of a publisher is set once");
        return -1;
    }
    Py_INCREF(codec);
    self->codec = codec;
    return 0;
}

static PyMemberDef publisher_members[] = {{"topic", T_OBJECT_EX, offsetof(Publisher, topic), READONLY, NULL},
                                          {"_schema", T_OBJECT, offsetof(Publisher, schema), READONLY, NULL},
                                          {"sender", T_OBJECT_EX, offsetof(Publisher, sender), READONLY, NULL},
                                          {NULL, 0, 0, 0, NULL}};
static PyGetSetDef publisher_getset[] = {{"closed", publisher_closed, NULL, NULL, NULL},
                                         {"_codec", get_codec, set_codec, NULL, NULL},
                                         {NULL, NULL, NULL, NULL, NULL}};

#define FASTCALL(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS
static PyMethodDef publisher_methods[] = {
    {"send", FASTCALL(publisher_send),
     "send($self, /, body, type='', timeout=...)\n--\n\n"
     "Send one message and return its sequence.\n\n"
     "body: any object with a buffer; on a typed topic an object of the schema. timeout: None waits for room, 0 never\n"
     "waits, expiry raises Full; by default reliable topics wait and lossy ones do not."},
    {"send_many", FASTCALL(publisher_send_many),
     "send_many($self, /, bodies, type='', timeout=...)\n--\n\n"
     "Send many messages and return the last one's sequence, or None if there are none.\n\n"
     "Every body is checked before the first is sent. timeout as in send, for all together."},
    {"send_raw", FASTCALL(publisher_send_raw),
     "send_raw($self, /, body, type='', timeout=...)\n--\n\n"
     "Send the bytes of body as they are, on a typed topic too, and return the sequence. As send on an untyped topic."},
    {"_send_many_raw", FASTCALL(publisher_send_many_raw), NULL},
    {"_send_records", publisher_send_records, METH_VARARGS, NULL},
    {"_loan_raw", FASTCALL(publisher_loan_raw), NULL},
    GENERIC,
    {"_send_as", FASTCALL(publisher_send_as), NULL},
    {"loan", FASTCALL(publisher_loan),
     "loan($self, /, size, type='', timeout=...)\n--\n\n"
     "Return a context manager: memory of the ring to fill in place.\n\n"
     "Leaving the block commits the message, an exception aborts it. timeout as in send."},
    {"close", publisher_close, METH_NOARGS,
     "close($self, /)\n--\n\nDetach. Waiting sends end with Closed; open loans are aborted."},
    {"_send_precommit", publisher_send_precommit, METH_VARARGS, NULL},
    {"_send_rows_precommit", publisher_send_rows_precommit, METH_VARARGS, NULL},
    {"_subscribers", publisher_subscribers, METH_NOARGS, NULL},
    {"_max_subscribers", publisher_max_subscribers, METH_NOARGS, NULL},
    {"_entry", publisher_entry, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot publisher_slots[] = {{Py_tp_new, publisher_new},         {Py_tp_dealloc, publisher_dealloc},
                                        {Py_tp_methods, publisher_methods}, {Py_tp_members, publisher_members},
                                        {Py_tp_getset, publisher_getset},   {0, NULL}};
static PyType_Spec publisher_spec = {.name = "slipring._native.Publisher",
                                     .basicsize = sizeof(Publisher),
                                     .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                     .slots = publisher_slots};

bool publisher_type_ready(PyObject *module) { return (publisher_type = add_type(module, &publisher_spec)) != NULL; }
