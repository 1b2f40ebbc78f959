#include "output/chrome_stacks.h"

#include "base/hash.h"
#include "output/json_stream.h"
#include "output/text.h"

namespace gpuprof::output {

uint32_t ChromeStacks::of(const analyze::LaunchSite& site) {
  uint32_t node = 0;
  for (const analyze::WorkPaths::Part part : paths_.launch(site)) {
    node = descend(node, part);
  }
  return node;
}

uint32_t ChromeStacks::descend(uint32_t parent, analyze::WorkPaths::Part part) {
  const auto [known, is_new] = ends_.try_emplace(join_ids(parent, part));
  if (is_new) {
    uint32_t node = parent;
    for (const uint32_t frame : paths_.frames(part)) {
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
  out.append("\"").append(std::to_string(id)).append("\":");
  JsonObject object(out);
  object.text("name", shown_text(paths_.view().label(node.label)));
  if (node.parent != 0) {
    object.key("parent").append("\"").append(std::to_string(node.parent)).append("\"");
  }
}

}  // namespace gpuprof::output
