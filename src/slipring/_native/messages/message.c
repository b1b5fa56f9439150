/* SPDX-License-Identifier: Apache-2.0
 *
 * The type Message, and type and sender of a message as Python strings. The strings of the last message are kept, because the
 * next message mostly has the same type and sender. Then they cost the comparison of a word or two.
 */
#include "handles/free_list.h"
#include "native.h"

PyTypeObject *message_type;
static struct free_list free_list;

PyObject *message_new(PyObject *body, PyObject *sender, PyObject *type, PyObject *topic, PyObject *value, uint64_t seq,
                      int64_t time_ns) {
    Message *m = free_list_take(&free_list);
    if (!m && !(m = PyObject_New(Message, message_type))) {
        Py_DECREF(body);
        return NULL;
    }
    Py_INCREF(sender);
    Py_INCREF(type);
    Py_INCREF(topic);
    Py_XINCREF(value);
    m->value = value;
    m->body = body;
    m->sender = sender;
    m->type = type;
    m->topic = topic;
    m->seq = seq;
    m->time_ns = time_ns;
    return (PyObject *)m;
}

static PyObject *message_create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"body", "sender", "type", "seq", "time_ns", "topic", "value", NULL};
    PyObject *body, *sender = NULL, *kind = NULL, *topic = NULL, *value = NULL;
    unsigned long long seq = 0;
    long long time_ns = 0;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|UUKLUO:Message", names, &body, &sender, &kind, &seq, &time_ns, &topic,
                                     &value))
        return NULL;
    PyObject *empty = PyUnicode_FromString("");
    if (!empty) return NULL;
    Py_INCREF(body);
    PyObject *m = message_new(body, sender ? sender : empty, kind ? kind : empty, topic ? topic : empty, value, seq, time_ns);
    Py_DECREF(empty);
    return m;
}

static void message_dealloc(PyObject *self) {
    Message *m = (Message *)self;
    Py_DECREF(m->body);
    Py_DECREF(m->sender);
    Py_DECREF(m->type);
    Py_DECREF(m->topic);
    Py_XDECREF(m->value);
    free_list_give(&free_list, self);
}

static PyObject *message_value(PyObject *self, void *ignored) {
    Message *m = (Message *)self;
    (void)ignored;
    PyObject *found = m->value ? m->value : m->body;
    Py_INCREF(found);
    if (!m->value || !decoder_check(found)) return found;
    PyObject *value = decoder_value(found, m->body, m->topic, m->seq);
    if (value && m->value == found) { /* else another thread was faster */
        Py_INCREF(value);
        m->value = value;
        Py_DECREF(found);
    }
    Py_DECREF(found);
    return value;
}

#define SHOWN 64 /* bytes of a body in its repr */

static PyObject *message_repr(PyObject *self) {
    Message *m = (Message *)self;
    Py_ssize_t size = PyBytes_Check(m->body) ? PyBytes_Size(m->body) : 0;
    PyObject *start = size > SHOWN ? PySequence_GetSlice(m->body, 0, SHOWN) : NULL;
    if (size > SHOWN && !start) return NULL;
    PyObject *text = start ? PyUnicode_FromFormat("Message(seq=%llu, topic=%R, sender=%R, type=%R, body=%R... %zd bytes)", m->seq,
                                                  m->topic, m->sender, m->type, start, size)
                           : PyUnicode_FromFormat("Message(seq=%llu, topic=%R, sender=%R, type=%R, body=%R)", m->seq, m->topic,
                                                  m->sender, m->type, m->body);
    Py_XDECREF(start);
    return text;
}

static PyObject *message_reduce(PyObject *self, PyObject *ignored) {
    Message *m = (Message *)self;
    (void)ignored;
    if (!m->value) return Py_BuildValue("O(OOOKLO)", message_type, m->body, m->sender, m->type, m->seq, m->time_ns, m->topic);
    return Py_BuildValue("O(OOOKLOO)", message_type, m->body, m->sender, m->type, m->seq, m->time_ns, m->topic, m->value);
}

static PyMethodDef message_methods[] = {{"__reduce__", message_reduce, METH_NOARGS, NULL}, GENERIC, {NULL, NULL, 0, NULL}};

static PyObject *message_compare(PyObject *self, PyObject *other, int op) {
    if (Py_TYPE(other) != message_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    Message *a = (Message *)self, *b = (Message *)other;
    int equal = a->seq == b->seq && a->time_ns == b->time_ns;
    if (equal) equal = PyObject_RichCompareBool(a->body, b->body, Py_EQ);
    if (equal > 0) equal = PyObject_RichCompareBool(a->sender, b->sender, Py_EQ);
    if (equal > 0) equal = PyObject_RichCompareBool(a->type, b->type, Py_EQ);
    if (equal > 0) equal = PyObject_RichCompareBool(a->topic, b->topic, Py_EQ);
    if (equal < 0) return NULL;
    return PyBool_FromLong(op == Py_EQ ? equal : !equal);
}

static Py_hash_t message_hash(PyObject *self) {
    Message *m = (Message *)self;
    Py_hash_t hash = (Py_hash_t)(m->seq * 1000003u ^ (unsigned long long)m->time_ns);
    return hash == -1 ? -2 : hash;
}

static PyGetSetDef message_getset[] = {
    {"value", message_value, NULL, "the decoded body on a typed topic, else the body", NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef message_members[] = {
    {"body", T_OBJECT_EX, offsetof(Message, body), READONLY, "the contents: bytes, or a memoryview inside view()"},
    {"sender", T_OBJECT_EX, offsetof(Message, sender), READONLY, "the name of its sender"},
    {"type", T_OBJECT_EX, offsetof(Message, type), READONLY, "the type that its sender gave it"},
    {"topic", T_OBJECT_EX, offsetof(Message, topic), READONLY, "the topic it came from"},
    {"seq", T_ULONGLONG, offsetof(Message, seq), READONLY, "its number in the topic, counted from 0"},
    {"time_ns", T_LONGLONG, offsetof(Message, time_ns), READONLY, "the time of its commit, in ns since the epoch"},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot message_slots[] = {{Py_tp_doc, "Message(body, sender='', type='', seq=0, time_ns=0, topic='')\n--\n\n"
                                                  "A message with its body, sender, type, sequence, time of commit and topic."},
                                      {Py_tp_new, message_create},
                                      {Py_tp_dealloc, message_dealloc},
                                      {Py_tp_repr, message_repr},
                                      {Py_tp_richcompare, message_compare},
                                      {Py_tp_hash, message_hash},
                                      {Py_tp_members, message_members},
                                      {Py_tp_getset, message_getset},
                                      {Py_tp_methods, message_methods},
                                      {0, NULL}};
static PyType_Spec message_spec = {
    .name = "slipring.Message", .basicsize = sizeof(Message), .flags = Py_TPFLAGS_DEFAULT, .slots = message_slots};

bool message_type_ready(PyObject *module) { return (message_type = add_type(module, &message_spec)) != NULL; }

/* Type and sender ------------------------------------------------------------------------------------------- */

bool names_become(struct names *names, const struct meta *meta) {
    const char *bytes = (const char *)meta->words;
    /* Bytes from other programs are not always UTF-8. */
    PyObject *type = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)meta->type_size, "replace");
    PyObject *sender = type ? PyUnicode_DecodeUTF8(bytes + meta->type_size, (Py_ssize_t)meta->sender_size, "replace") : NULL;
    if (!sender) {
        Py_XDECREF(type);
        return false;
    }
    names_clear(names);
    names->type = type;
    names->sender = sender;
    names->meta = *meta;
    return true;
}

void names_clear(struct names *names) {
    Py_CLEAR(names->type);
    Py_CLEAR(names->sender);
}
