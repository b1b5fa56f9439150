/* SPDX-License-Identifier: Apache-2.0
 *
 * FrameReader: frames over a subscriber, which may exist before its topic. A frame keeps both open: while an array shows the
 * frame, its memory stays mapped and the frame stays held.
 */
#include "frames/streams.h"

#include <string.h>

typedef struct FrameReader {
    PyObject_HEAD
    slipring_frame_reader *reader; /* NULL until the topic exists */
    Subscriber *subscriber;
    PyObject *stream, *insist;
    slipring_counts last_counts; /* of a closed reader */
    int frames;                  /* frames that are not released */
    bool conflate, closing;
} FrameReader;

PyTypeObject *frame_reader_type;

/* For an entered subscriber that is attached. */
static int begin(FrameReader *self, int start) {
    slipring_stream insist[SLIPRING_MAX_STREAMS];
    const char *stream = self->stream == Py_None ? NULL : PyUnicode_AsUTF8AndSize(self->stream, NULL);
    int count = streams_parse(self->insist, insist);
    if (count < 0 || (self->stream != Py_None && !stream)) return -1;
    slipring_frame_reader_settings how = {
        .stream = stream, .start = start, .conflate = self->conflate, .insist = insist, .insist_count = (size_t)count};
    int code = slipring_frame_reader_open(self->subscriber->sub, self->subscriber->bus_path, self->subscriber->topic_name,
                                          &how, &self->reader);
    if (!code) return 0;
    self->reader = NULL;
    raise_code_at(code, self->subscriber->bus_path);
    return -1;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *subscriber, *stream, *insist;
    int start, conflate;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!OipO!:FrameReader", subscriber_type, &subscriber, &stream, &start, &conflate,
                          &PyTuple_Type, &insist))
        return NULL;
    FrameReader *self = (FrameReader *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    Py_INCREF(subscriber);
    Py_INCREF(stream);
    Py_INCREF(insist);
    self->subscriber = (Subscriber *)subscriber;
    self->stream = stream;
    self->insist = insist;
    self->conflate = conflate != 0;
    self->last_counts.entry = -1;
    bool attached = self->subscriber->sub != NULL; /* checked first: an attached subscriber did not wait for its topic */
    if (!subscriber_enter(self->subscriber)) {
        Py_DECREF(self);
        return NULL;
    }
    int failed = self->subscriber->sub ? begin(self, attached ? start : SLIPRING_START_SEQ) : 0;
    subscriber_leave(self->subscriber);
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

static void end_if_unused(FrameReader *self) {
    if (!self->closing || self->frames || !self->reader) return;
    slipring_frame_reader_close(self->reader);
    self->reader = NULL;
}

static PyObject *reader_counts(PyObject *object, PyObject *ignored) {
    FrameReader *self = (FrameReader *)object;
    slipring_counts *c = &self->last_counts;
    (void)ignored;
    if (self->reader && self->subscriber->sub) slipring_frame_reader_counts(self->reader, c);
    return Py_BuildValue("KKK", (unsigned long long)c->received, (unsigned long long)c->lost, (unsigned long long)c->filtered);
}

/* The reader is closed before its subscriber. */
static PyObject *reader_close(PyObject *object, PyObject *ignored) {
    FrameReader *self = (FrameReader *)object;
    Py_XDECREF(reader_counts(object, ignored)); /* saves the counts */
    handle_lock(&self->subscriber->handle);
    self->closing = true;
    end_if_unused(self);
    handle_unlock(&self->subscriber->handle);
    Py_RETURN_NONE;
}

static void reader_dealloc(PyObject *object) {
    FrameReader *self = (FrameReader *)object;
    PyTypeObject *type = Py_TYPE(object);
    self->closing = true;
    end_if_unused(self); /* no frame is left: each has a reference to the reader */
    Py_XDECREF((PyObject *)self->subscriber);
    Py_XDECREF(self->stream);
    Py_XDECREF(self->insist);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* The last array of a frame is gone. */
static void frame_done(PyObject *owner, uint64_t token) {
    FrameReader *self = (FrameReader *)owner;
    handle_lock(&self->subscriber->handle);
    slipring_frame_reader_release(self->reader, token);
    self->frames--;
    end_if_unused(self);
    subscriber_leave(self->subscriber);
}

/* OK with a frame, 1 with an exception, or a code. */
static int try_take(FrameReader *self, slipring_frame *out) {
    if (self->closing) {
        raise_closed("subscriber");
        return 1;
    }
    if (!self->subscriber->sub) return SLIPRING_EMPTY;
    if (!self->reader && begin(self, SLIPRING_START_SEQ)) return 1;
    return slipring_frame_reader_take(self->reader, out);
}

/* The region takes over the use of the subscriber. */
static PyObject *build(FrameReader *self, const slipring_frame *f) {
    self->frames++; /* first: another thread may close the reader while these objects are created */
    PyObject *meta = PyBytes_FromStringAndSize(f->meta, f->meta_size), *stream = stream_build(f->stream);
    handle_unlock(&self->subscriber->handle);
    bool writable = SLR_DEFECT(subscribers_may_write);
    PyObject *region =
        region_new((PyObject *)self, (void *)(uintptr_t)f->data, (Py_ssize_t)f->size, writable, frame_done, f->token);
    if (!region) frame_done((PyObject *)self, f->token);
    if (!region || !meta || !stream) {
        Py_XDECREF(region);
        Py_XDECREF(meta);
        Py_XDECREF(stream);
        return NULL;
    }
    return Py_BuildValue("NNKKKLLLNI", region, stream, (unsigned long long)f->id, (unsigned long long)f->seq,
                         (unsigned long long)f->run, (long long)f->time_ns, (long long)f->start_ns, (long long)f->end_ns, meta,
                         (unsigned)f->meta_kind);
}

/* (region, stream, id, seq, run, time_ns, start_ns, end_ns, meta, meta_kind), or None after the time-out */
static PyObject *reader_recv(PyObject *object, PyObject *value) {
    FrameReader *self = (FrameReader *)object;
    Subscriber *subscriber = self->subscriber;
    struct timeout timeout;
    slipring_frame frame;
    if (!timeout_parse(value, &timeout) || !subscriber_enter(subscriber)) return NULL;
    for (int again = 1;;) {
        int code = try_take(self, &frame);
        if (code == SLIPRING_OK) return build(self, &frame);
        if (code == SLIPRING_EMPTY && again > 0) {
            again = subscriber_wait(subscriber, &timeout);
            if (again > 0 || (again == 0 && !timeout.never_waits)) continue;
        } else if (code != SLIPRING_EMPTY && code != 1) {
            raise_code(code);
        }
        subscriber_leave(subscriber);
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
}

static PyObject *reader_streams(PyObject *object, PyObject *ignored) {
    FrameReader *self = (FrameReader *)object;
    size_t count = 0;
    (void)ignored;
    const slipring_stream *streams = self->reader ? slipring_frame_reader_streams(self->reader, &count) : NULL;
    return streams_build(streams, count);
}

static PyMethodDef reader_methods[] = {{"recv", reader_recv, METH_O, NULL},
                                       {"streams", reader_streams, METH_NOARGS, NULL},
                                       {"counts", reader_counts, METH_NOARGS, NULL},
                                       {"close", reader_close, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot reader_slots[] = {
    {Py_tp_new, reader_new}, {Py_tp_dealloc, reader_dealloc}, {Py_tp_methods, reader_methods}, {0, NULL}};
static PyType_Spec reader_spec = {.name = "slipring._native.FrameReader",
                                  .basicsize = sizeof(FrameReader),
                                  .flags = Py_TPFLAGS_DEFAULT,
                                  .slots = reader_slots};

bool frame_reader_type_ready(PyObject *module) { return (frame_reader_type = add_type(module, &reader_spec)) != NULL; }
