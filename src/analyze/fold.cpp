#include "analyze/fold.h"

#include <charconv>
#include <unordered_map>
#include <utility>

namespace gpuprof::analyze {
namespace {

namespace p = gpuprof::profile;

class TreeBuilder {
 public:
  TreeBuilder(const p::Tables& tables, const FoldOptions& options, FlameTree& tree)
      : tables_(tables), options_(options), tree_(tree) {}

  void add(const Row& row) {
    const NodeId leaf = row.key.kind == RowKind::stall ? stall_path(row.key) : work_path(row.key);
    tree_.add(leaf, row.weight);
  }

 private:
  // process ; user frames ; - ; kernel frames ; GPU work
  NodeId work_path(const RowKey& key) {
    NodeId node = tree_.child(FlameTree::kRoot, process_label(tables_, key), FrameClass::process);
    if (index(key.ustack) == 0 && index(key.kstack) == 0) {
      node = tree_.child(node, kNoCpuStack, FrameClass::note);
    }
    node = stack_path(node, false, key.ustack);
    if (index(key.kstack) != 0) {
      node = tree_.child(node, "-", FrameClass::separator);
      node = stack_path(node, true, key.kstack);
    }
    return tree_.child(node, work_label(tables_, key), key.kind == RowKind::gpu ? FrameClass::gpu : FrameClass::note);
  }

  // process ; pid ; user frames ; - ; kernel frames ; file ; symbol ; instruction ; stall reason ; offset
  NodeId stall_path(const RowKey& key) {
    NodeId node = tree_.child(FlameTree::kRoot, process_label(tables_, key), FrameClass::process);
    node = tree_.child(node, std::to_string(key.pid), FrameClass::process);
    if (index(key.ustack) == 0) {
      node = tree_.child(node, kUnknown, FrameClass::note);
    }
    node = stack_path(node, false, key.ustack);
    node = tree_.child(node, "-", FrameClass::separator);
    node = stack_path(node, true, key.kstack);
    node = tree_.child(node, or_unknown(tables_.gpu_file(key.gpu_file)), FrameClass::gpu);
    node = tree_.child(node, work_label(tables_, key), FrameClass::gpu);
    node = tree_.child(node, or_unknown(tables_.insn_text(key.insn_text)), FrameClass::gpu_detail);
    node = tree_.child(node, stall_label(key.stall_type), FrameClass::gpu_detail);
    char offset[20] = "0x";
    const auto end = std::to_chars(offset + 2, offset + sizeof offset, key.offset, 16);
    return tree_.child(node, std::string_view(offset, static_cast<size_t>(end.ptr - offset)), FrameClass::gpu_detail);
  }

  // Many rows share their stack: where one ends, below one parent, is walked to once.
  NodeId stack_path(NodeId parent, bool kernel, p::StackId id) {
    if (index(id) == 0) {
      return parent;
    }
    const auto [known, added] = stack_ends_[kernel ? 1 : 0].try_emplace((uint64_t{parent} << 32U) | index(id), parent);
    if (added) {
      NodeId node = parent;
      for (const p::Element element : tables_.stack(kernel, id)) {
        node = tree_.child(node, frame_label(tables_, element, options_), frame_class(tables_, element, kernel));
      }
      known->second = node;
    }
    return known->second;
  }

  static std::string_view or_unknown(std::string_view text) { return text.empty() ? kUnknown : text; }

  const p::Tables& tables_;
  const FoldOptions& options_;
  FlameTree& tree_;
  std::unordered_map<uint64_t, NodeId> stack_ends_[2];  // by kernel or not
};

}  // namespace

Result<FoldResult> fold(profile::Reader& reader, const FoldOptions& options) {
  auto rows = aggregate(reader);
  if (!rows) {
    return std::move(rows).error();
  }
  FoldResult result;
  static_cast<ProfileInfo&>(result) = std::move(rows->info);
  TreeBuilder builder(rows->tables, options, result.tree);
  for (const Row& row : rows->rows) {
    builder.add(row);
  }
  return result;
}

}  // namespace gpuprof::analyze
