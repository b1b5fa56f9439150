/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of frames as tuples (name, shape, dtype, item_size, buffers).
 */
#ifndef SLIPRING_NATIVE_FRAMES_H
#define SLIPRING_NATIVE_FRAMES_H

#include "native.h"

/* Parses a tuple of streams; the number of them, or -1 with an exception. */
int streams_parse(PyObject *tuple, slipring_stream out[SLIPRING_MAX_STREAMS]);
PyObject *streams_build(const slipring_stream *streams, size_t count);
PyObject *stream_build(const slipring_stream *stream);

#endif
