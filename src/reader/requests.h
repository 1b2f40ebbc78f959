// What the recorder asks its reader, and the questions that the reader asks in return. Each message begins with one of
// these numbers. The fields that follow stand at each of them. Process::ask() puts the number of earlier readers that
// failed before each request.
#pragma once

#include <cstdint>

namespace gpuprof::reader {

enum class Ask : uint64_t {
  // Names the code of a mapped file. Fields: free memory, id of the file, is it new, its path, is it ours, offset,
  // offset of the mapping; with the file's descriptor if it is new.
  // Answer: is it ELF; append_frames(); append_left_out().
  names,
  // Finds symbols of a file. Fields: offset of a mapping; names; with the file's descriptor.
  // Answer: is there a segment at the mapping's offset; its virtual address; for each symbol: index of its name,
  // virtual address, size, is it a function whose code is in the file, offset of its code.
  symbols,
  // Reads what an unwind table is made from. Only the file's descriptor.
  // Answer: can a table be made; its source (unwind/cache/table_file.h); the file's segments.
  table_source,
  // Makes the unwind table of a file. Only the file's descriptor. Answer: the table's bytes
  // (unwind/cache/table_file.h).
  table,
  // Opens GPU code. Fields: free memory, id, is it a cubin; with a file that holds it.
  // Answer: is it valid; architecture of a cubin; platform of a zebin.
  code,
  // Describes a function of GPU code. Fields: id of the code, name. Answer: append_function().
  code_function,
  // Finds source lines of GPU code. Fields: free memory, id of the code, name, offset. Answer: append_lines().
  code_lines,
};

enum class Reply : uint64_t {
  answer,    // the memory of the reader in bytes; the fields above
  open,      // a file is needed: path; is it in the target's root directory
  download,  // a debug file is needed from debuginfod: build id
};

}  // namespace gpuprof::reader
