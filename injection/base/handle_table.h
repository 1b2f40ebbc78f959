#pragma once

#include <cstdint>
#include <cstdlib>

namespace gpuprof::injection {

// Hash table of nodes by vendor handle. Nodes have members `handle` and `next`, and come from malloc. The caller must
// hold a lock.
template <typename Node, uint32_t kBuckets = 1024>
class HandleTable {
 public:
  Node* find(const void* handle) { return *link_to(handle); }

  // Adds a zeroed node for a handle that is not in the table. Returns null if memory is exhausted.
  Node* add(const void* handle) {
    auto* node = static_cast<Node*>(calloc(1, sizeof(Node)));
    if (node != nullptr) {
      node->handle = handle;
      put(node);
    }
    return node;
  }

  // Adds a node, which the table then owns. The node's handle must not be in the table.
  void put(Node* node) {
    Node** bucket = &buckets_[bucket_of(node->handle)];
    node->next = *bucket;
    *bucket = node;
  }

  // Removes a node, which the caller then owns and frees. Returns null if the handle is unknown.
  Node* take(const void* handle) {
    Node** link = link_to(handle);
    Node* node = *link;
    if (node != nullptr) {
      *link = node->next;
    }
    return node;
  }

  // Removes one node for which `wanted(node)` is true; the caller owns it. Returns null if no node matches.
  template <typename Wanted>
  Node* take_any(Wanted wanted) {
    Node* node = nullptr;
    for (uint32_t bucket = 0; node == nullptr && bucket < kBuckets; ++bucket) {
      node = take_any_in(bucket, wanted);
    }
    return node;
  }

  // Does the same as take_any(), but for one bucket only.
  template <typename Wanted>
  Node* take_any_in(uint32_t bucket, Wanted wanted) {
    for (Node** link = &buckets_[bucket]; *link != nullptr; link = &(*link)->next) {
      if (Node* node = *link; wanted(*node)) {
        *link = node->next;
        return node;
      }
    }
    return nullptr;
  }

  // Empties the table in a forked child. Leaks the nodes, because another thread may have been changing them at the
  // fork.
  void forget() {
    for (Node*& bucket : buckets_) {
      if (bucket != nullptr) {
        bucket = nullptr;
      }
    }
  }

  // Returns the number of a handle's bucket. A caller may use one lock for each group of buckets.
  static uint32_t bucket_of(const void* handle) {
    const auto address = reinterpret_cast<uintptr_t>(handle);
    return (address >> 4 ^ address >> 12 ^ address >> 20) % kBuckets;
  }

 private:
  Node** link_to(const void* handle) {
    Node** link = &buckets_[bucket_of(handle)];
    while (*link != nullptr && (*link)->handle != handle) {
      link = &(*link)->next;
    }
    return link;
  }

  Node* buckets_[kBuckets] = {};
};

}  // namespace gpuprof::injection
