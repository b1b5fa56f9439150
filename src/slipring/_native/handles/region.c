/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the ring behind the buffer protocol. The memoryview that a user gets is released at the end of its `with` block;
 * slices and arrays of it may exist longer. Until the last of them is gone, a held message stays held, and a loan stays
 * claimed and is not committed. So no buffer points to memory that is used again or sent.
 */
#include "handles/free_list.h"
#include "native.h"

typedef struct Region {
    PyObject_HEAD
    PyObject *owner;
    void *data;
    Py_ssize_t size;
    bool writable;
    int buffers; /* exported and not released; memoryviews of one export count once */
    void (*done)(PyObject *owner, uint64_t seq);
    uint64_t seq;
} Region;

PyTypeObject *region_type;
static struct free_list free_list;
static PyObject *release_method; /* memoryview.release, looked up once */

PyObject *region_new(PyObject *owner, void *data, Py_ssize_t size, bool writable,
                     void (*done)(PyObject *owner, uint64_t seq), uint64_t seq) {
    Region *r = free_list_take(&free_list);
    if (!r && !(r = PyObject_New(Region, region_type))) return NULL;
    Py_INCREF(owner);
    r->owner = owner;
    r->data = data;
    r->size = size;
    r->writable = writable;
    r->buffers = 0;
    r->done = done;
    r->seq = seq;
    return (PyObject *)r;
}

PyObject *region_memoryview(PyObject *region) { return PyMemoryView_FromObject(region); }

PyObject *region_release(PyObject *memoryview) { return PyObject_CallFunctionObjArgs(release_method, memoryview, NULL); }

/* Every buffer holds a reference to the region: none is left now. */
static void region_dealloc(PyObject *self) {
    Region *r = (Region *)self;
    r->done(r->owner, r->seq);
    Py_DECREF(r->owner);
    free_list_give(&free_list, self);
}

static int region_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    Region *r = (Region *)self;
    int failed = PyBuffer_FillInfo(view, self, r->data, r->size, !r->writable, flags);
    if (!failed) r->buffers++;
    return failed;
}

static void region_releasebuffer(PyObject *self, Py_buffer *view) {
    (void)view;
    ((Region *)self)->buffers--;
}

void region_forget(PyObject *region, uint64_t seq) { ((Region *)region)->seq = seq; }

bool region_in_use(PyObject *region) { return ((Region *)region)->buffers > 0; }

static PyType_Slot region_slots[] = {
    {Py_tp_dealloc, region_dealloc},
    {Py_bf_getbuffer, region_getbuffer},
    {Py_bf_releasebuffer, region_releasebuffer},
    {0, NULL}};
static PyType_Spec region_spec = {.name = "slipring._native.Region",
                                  .basicsize = sizeof(Region),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = region_slots};

bool region_type_ready(PyObject *module) {
    release_method = PyObject_GetAttrString((PyObject *)&PyMemoryView_Type, "release");
    return release_method && (region_type = add_type(module, &region_spec)) != NULL;
}
