// What we know of a vendor's handles.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gpuprof::injection {

// A table by handle of nodes, each with a `handle` and a `next`. Nodes come from malloc or calloc. The caller locks.
template <typename Node, uint32_t kBuckets = 1024>
class HandleTable {
 public:
  Node* find(const void* handle) { return *link_to(handle); }

  // Of a handle that is not there. Null: no memory.
  Node* add(const void* handle) {
    auto* node = static_cast<Node*>(calloc(1, sizeof(Node)));
    if (node != nullptr) {
      node->handle = handle;
      put(node);
    }
    return node;
  }

  // The table's from here on. Its handle is not there.
  void put(Node* node) {
    Node** bucket = &buckets_[bucket_of(node->handle)];
    node->next = *bucket;
    *bucket = node;
  }

  // Out of the table, and the caller's to free; null: not there.
  Node* take(const void* handle) {
    Node** link = link_to(handle);
    Node* node = *link;
    if (node != nullptr) {
      *link = node->next;
    }
    return node;
  }

  // Out of the table, and the caller's to free: any one of which `wanted(node)` is true; null: there is none.
  template <typename Wanted>
  Node* take_any(Wanted wanted) {
    for (Node*& bucket : buckets_) {
      for (Node** link = &bucket; *link != nullptr; link = &(*link)->next) {
        if (Node* node = *link; wanted(*node)) {
          *link = node->next;
          return node;
        }
      }
    }
    return nullptr;
  }

  // In a forked child. What it held stays: a thread of the parent may have been in the middle of a change.
  void forget() {
    for (Node*& bucket : buckets_) {
      if (bucket != nullptr) {
        bucket = nullptr;
      }
    }
  }

  // For a lock of a part of the table.
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
