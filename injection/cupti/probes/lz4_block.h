#pragma once

#include <cstddef>

namespace gpuprof::injection::cupti {

// Decompresses a block of LZ4 (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md). Returns the number of
// bytes written, or SIZE_MAX if the block is malformed or has more than `most` bytes.
size_t decompress_lz4(const unsigned char* block, size_t size, unsigned char* out, size_t most);

}  // namespace gpuprof::injection::cupti
