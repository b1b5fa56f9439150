/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames: streams as tuples (name, shape, dtype, item_size, buffers), and the two types.
 */
#ifndef SLIPRING_NATIVE_FRAMES_H
#define SLIPRING_NATIVE_FRAMES_H

#include "native.h"

/* A tuple of streams; how many, or -1 with an exception. */
int streams_parse(PyObject *tuple, slipring_stream out[SLIPRING_MAX_STREAMS]);
PyObject *streams_build(const slipring_stream *streams, size_t count);
PyObject *stream_build(const slipring_stream *stream);

#endif
