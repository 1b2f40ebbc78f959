#include "output/chrome_stacks.h"

#include "analyze/call_path.h"
#include "base/hash.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {

namespace p = gpuprof::profile;

uint32_t ChromeStacks::of_work(const p::Work& work) {
  uint32_t node = stack(0, false, work.ustack);
  if (index(work.kstack) != 0 && !view_.is_hidden(true, work.kstack)) {
    node = stack(child(node, "-"), true, work.kstack);
  }
  if (index(work.capture) != 0) {
    node = stack(child(node, analyze::kCapturedAt), false, work.capture);
  }
  return node;
}

uint32_t ChromeStacks::child(uint32_t parent, std::string_view text) {
  const auto [known, is_new] = texts_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size()));
  if (is_new) {
    text_order_.push_back(&known->first);
  }
  return add(parent, known->second | kText);
}

uint32_t ChromeStacks::stack(uint32_t parent, bool kernel, p::StackId id) {
  if (index(id) == 0) {
    return parent;
  }
  const auto [known, is_new] = stacks_[kernel ? 1 : 0].try_emplace(join_ids(parent, index(id)));
  if (is_new) {
    uint32_t node = parent;
    if (view_.is_hidden(kernel, id)) {
      node = child(node, analyze::kAllHidden);
    }
    for (const uint32_t frame : view_.frames(kernel, id)) {
      node = add(node, frame);
    }
    known->second = node;
  }
  return known->second;
}

uint32_t ChromeStacks::add(uint32_t parent, uint32_t label) {
  if (nodes_.size() >= kMostNodes) {
    const auto known = ids_.find(join_ids(parent, label));
    return known == ids_.end() ? parent : known->second;
  }
  const auto [known, is_new] = ids_.try_emplace(join_ids(parent, label), static_cast<uint32_t>(nodes_.size() + 1));
  if (is_new) {
    nodes_.push_back({parent, label});
  }
  return known->second;
}

void ChromeStacks::write_node(uint32_t id, std::string& out) const {
  const Node& node = nodes_[id - 1];
  const std::string& label = (node.label & kText) != 0 ? *text_order_[node.label & ~kText] : view_.label(node.label);
  out.append("\"").append(std::to_string(id)).append("\":");
  JsonObject object(out);
  object.text("name", shown_text(label));
  if (node.parent != 0) {
    object.key("parent").append("\"").append(std::to_string(node.parent)).append("\"");
  }
}

}  // namespace gpuprof::output
