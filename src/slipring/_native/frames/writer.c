/* SPDX-License-Identifier: Apache-2.0
 *
 * FrameWriter: takes buffers of a frames topic and sends them. A buffer that is being written keeps the publisher open. A
 * buffer that was sent keeps only its memory mapped, for as long as an array shows it.
 */
#include "frames/streams.h"

typedef struct FrameWriter {
    PyObject_HEAD
    slipring_frame_writer *writer;
    Publisher *publisher;
    int shown; /* buffers that an array still shows */
    bool stopped;
    struct handle handle; /* users: calls, and buffers that are being written */
} FrameWriter;

PyTypeObject *frame_writer_type;

#define ENDED UINT64_MAX /* instead of a buffer number: sent or aborted */

static void end_if_unused(FrameWriter *self) {
    if (self->handle.users || !self->handle.closing || !self->writer) return;
    if (!self->stopped) {
        self->stopped = true;
        slipring_frame_writer_stop(self->writer);
        publisher_unpin(self->publisher);
    }
    if (self->shown) return;
    slipring_frame_writer_close(self->writer);
    self->writer = NULL;
}

static bool enter(FrameWriter *self) {
    if (self->handle.closing || !self->writer) {
        raise_closed("publisher");
        return false;
    }
    self->handle.users++;
    handle_lock(&self->handle);
    return true;
}

static void leave(FrameWriter *self) {
    handle_unlock(&self->handle);
    self->handle.users--;
    end_if_unused(self);
}

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *bus, *topic;
    PyObject *publisher, *tuple;
    slipring_stream streams[SLIPRING_MAX_STREAMS];
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!ssO!:FrameWriter", publisher_type, &publisher, &bus, &topic, &PyTuple_Type, &tuple))
        return NULL;
    int count = streams_parse(tuple, streams), code;
    if (count < 0) return NULL;
    FrameWriter *self = (FrameWriter *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self || !handle_init(&self->handle)) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    Py_INCREF(publisher);
    self->publisher = (Publisher *)publisher;
    if (!publisher_enter(self->publisher)) {
        Py_DECREF(self);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    code = slipring_frame_writer_open(self->publisher->pub, bus, topic, streams, (size_t)count, &self->writer);
    Py_END_ALLOW_THREADS
    if (code) {
        self->writer = NULL;
        raise_code_at(code, bus);
        publisher_leave(self->publisher);
        Py_DECREF(self);
        return NULL;
    }
    handle_unlock(&self->publisher->handle); /* the publisher stays in use until the writer is closed */
    return (PyObject *)self;
}

static PyObject *writer_close(PyObject *object, PyObject *ignored) {
    FrameWriter *self = (FrameWriter *)object;
    (void)ignored;
    self->handle.closing = true;
    end_if_unused(self);
    Py_RETURN_NONE;
}

static void writer_dealloc(PyObject *object) {
    FrameWriter *self = (FrameWriter *)object;
    PyTypeObject *type = Py_TYPE(object);
    self->handle.closing = true;
    end_if_unused(self); /* no buffer is left: each has a reference to the writer */
    handle_clear(&self->handle);
    Py_XDECREF((PyObject *)self->publisher);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The last array of a buffer is gone. */
static void buffer_done(PyObject *owner, uint64_t buffer) {
    FrameWriter *self = (FrameWriter *)owner;
    self->shown--;
    if (buffer == ENDED) {
        end_if_unused(self);
        return;
    }
    handle_lock(&self->handle);
    slipring_frame_writer_abort(self->writer, (uint32_t)buffer);
    leave(self);
}

static PyObject *writer_take(PyObject *object, PyObject *args) {
    FrameWriter *self = (FrameWriter *)object;
    slipring_frame_buffer buffer;
    unsigned stream;
    if (!PyArg_ParseTuple(args, "I:take", &stream) || !enter(self)) return NULL;
    int code = slipring_frame_writer_take(self->writer, stream, &buffer);
    if (code) {
        raise_code(code);
        leave(self);
        return NULL;
    }
    handle_unlock(&self->handle);
    self->shown++;
    PyObject *region = region_new(object, buffer.data, (Py_ssize_t)buffer.size, true, buffer_done, buffer.buffer);
    if (!region) {
        buffer_done(object, buffer.buffer);
        return NULL;
    }
    return Py_BuildValue("NI", region, (unsigned)buffer.buffer);
}

static PyObject *writer_send(PyObject *object, PyObject *args) {
    FrameWriter *self = (FrameWriter *)object;
    PyObject *region;
    unsigned buffer, kind;
    const char *meta;
    Py_ssize_t size;
    long long start_ns, end_ns;
    uint64_t id = 0, seq = 0;
    if (!PyArg_ParseTuple(args, "O!Iy#ILL:send", region_type, &region, &buffer, &meta, &size, &kind, &start_ns, &end_ns) ||
        !enter(self))
        return NULL;
    slipring_frame_message note = {.start_ns = start_ns,
                                .end_ns = end_ns,
                                .meta = meta,
                                .meta_size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
                                .meta_kind = kind};
    int code = slipring_frame_writer_send(self->writer, buffer, &note, &id, &seq);
    if (code) {
        raise_code(code);
    } else {
        region_forget(region, ENDED);
        self->handle.users--; /* the use by the buffer */
    }
    leave(self);
    return code ? NULL : Py_BuildValue("KK", (unsigned long long)id, (unsigned long long)seq);
}

static PyObject *writer_abort(PyObject *object, PyObject *args) {
    FrameWriter *self = (FrameWriter *)object;
    PyObject *region;
    unsigned buffer;
    if (!PyArg_ParseTuple(args, "O!I:abort", region_type, &region, &buffer)) return NULL;
    handle_lock(&self->handle);
    slipring_frame_writer_abort(self->writer, buffer);
    region_forget(region, ENDED);
    leave(self); /* ends the use by the buffer, also of a writer that is being closed */
    Py_RETURN_NONE;
}

static PyObject *writer_streams(PyObject *object, PyObject *ignored) {
    FrameWriter *self = (FrameWriter *)object;
    (void)ignored;
    if (!enter(self)) return NULL;
    size_t count;
    const slipring_stream *streams = slipring_frame_writer_streams(self->writer, &count);
    PyObject *result = streams_build(streams, count);
    leave(self);
    return result;
}

static PyMethodDef writer_methods[] = {{"take", writer_take, METH_VARARGS, NULL},
                                       {"send", writer_send, METH_VARARGS, NULL},
                                       {"abort", writer_abort, METH_VARARGS, NULL},
                                       {"streams", writer_streams, METH_NOARGS, NULL},
                                       {"close", writer_close, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot writer_slots[] = {
    {Py_tp_new, writer_new}, {Py_tp_dealloc, writer_dealloc}, {Py_tp_methods, writer_methods}, {0, NULL}};
static PyType_Spec writer_spec = {.name = "slipring._native.FrameWriter",
                                  .basicsize = sizeof(FrameWriter),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = writer_slots};

bool frame_writer_type_ready(PyObject *module) { return (frame_writer_type = add_type(module, &writer_spec)) != NULL; }
