#include "backend/drm/clients.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"

using namespace gpuprof::backend::drm;

namespace {

class Proc {
 public:
  Proc() : root_(std::filesystem::temp_directory_path() / ("gpuprof_clients_test." + std::to_string(::getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~Proc() { std::filesystem::remove_all(root_); }
  Proc(const Proc&) = delete;
  Proc& operator=(const Proc&) = delete;

  void process(int pid, int parent, const std::string& name = "app") const {
    std::filesystem::create_directories(folder(pid) / "fd");
    std::filesystem::create_directories(folder(pid) / "fdinfo");
    std::ofstream(folder(pid) / "status")
        << "Name:\t" << name << "\nPid:\t" << pid << "\nPPid:\t" << parent << "\nUid:\t7\t0\t0\t0\nGid:\t8\t0\t0\t0\n";
  }
  void children(int pid, const std::string& pids) const {
    const std::filesystem::path task = folder(pid) / "task" / std::to_string(pid);
    std::filesystem::create_directories(task);
    std::ofstream(task / "children") << pids;
  }
  void file(int pid, int fd, const std::string& target, const std::string& info) const {
    std::filesystem::create_symlink(target, folder(pid) / "fd" / std::to_string(fd));
    std::ofstream(folder(pid) / "fdinfo" / std::to_string(fd)) << info;
  }
  void card(int pid, int fd, int client) const {
    file(pid, fd, "/dev/dri/renderD128", "pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t" + std::to_string(client) + "\n");
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  [[nodiscard]] std::filesystem::path folder(int pid) const { return root_ / std::to_string(pid); }
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("a client id is read only in the kernel's format") {
  CHECK(client_of("pos:\t0\ndrm-client-id:\t17\ndrm-pdev:\t0000:03:00.0\n") == 17U);
  CHECK_FALSE(client_of("pos:\t0\ndrm-client-id:\t17"));  // the line is truncated
  CHECK_FALSE(client_of("drm-client-id:\t17\n"));         // the first line must be the kernel's "pos:"
  CHECK_FALSE(client_of("pos:\t0\nx-drm-client-id:\t17\n"));
  CHECK_FALSE(client_of("pos:\t0\ndrm-client-id:\t17 18\n"));
  CHECK_FALSE(client_of("pos:\t0\ndrm-client-id:\t0\n"));
  CHECK_FALSE(client_of("pos:\t0\ndrm-client-id:\t99999999999999999999999\n"));
  CHECK_FALSE(client_of(""));
}

TEST_CASE("a client belongs to the recorded process tree, to another process, or to none") {
  const Proc proc;
  proc.process(1, 0);
  proc.process(100, 1);
  proc.process(101, 100, "a) R 1\\nPPid:\\t1");  // the kernel escapes newlines in a name
  proc.process(102, 101);
  proc.process(200, 1);
  proc.process(300, 999);  // its parent has ended
  proc.card(100, 3, 7);
  proc.card(102, 4, 8);
  proc.card(200, 3, 9);
  proc.card(200, 5, 8);  // process 200 has also received the file of client 8, but recorded process 102 is its owner
  proc.card(300, 5, 11);
  Clients clients(100, proc.root());
  CHECK_FALSE(clients.find(7));
  clients.find_owners({7, 8, 9, 10, 11});
  CHECK(clients.find(7)->owner == Clients::Owner::recorded);
  CHECK(clients.find(7)->process.pid == 100);
  CHECK(clients.find(7)->process.uid == 7);  // the real user: the process may run a set-user-id program
  CHECK(clients.find(7)->process.gid == 8);
  CHECK(clients.find(8)->process.pid == 102);
  CHECK(clients.find(9)->owner == Clients::Owner::other);
  CHECK(clients.find(10)->owner == Clients::Owner::unknown);
  CHECK(clients.find(11)->owner == Clients::Owner::other);
  CHECK_FALSE(clients.find(12));

  clients.forget(102);
  CHECK_FALSE(clients.find(8));
  CHECK(clients.find(7));
}

TEST_CASE("a search has limits, and begins with the recorded processes") {
  const Proc proc;
  proc.process(1, 0);
  proc.process(5, 1);
  proc.process(6, 1);
  proc.process(100, 1);
  proc.process(101, 100);
  proc.children(100, "101 ");
  for (const int stranger : {5, 6}) {
    for (int fd = 3; fd < 6; ++fd) {
      proc.card(stranger, fd, 1000 + fd);
    }
  }
  proc.card(101, 3, 7);
  Clients first(100, proc.root());
  first.find_owners({7, 1003}, {.files = 1});
  CHECK(first.find(7)->process.pid == 101);
  CHECK(first.find(1003)->owner == Clients::Owner::unknown);
  Clients late(100, proc.root());
  late.find_owners({7, 1003}, {.ns = 0});
  CHECK(late.find(7)->owner == Clients::Owner::unknown);
  CHECK(late.find(1003)->owner == Clients::Owner::unknown);
}

TEST_CASE("only files of DRM cards are read") {
  const Proc proc;
  proc.process(100, 1);
  proc.file(100, 3, "/tmp/file", "pos:\t0\ndrm-client-id:\t7\n");
  proc.file(100, 4, "/dev/dri", "pos:\t0\ndrm-client-id:\t7\n");
  proc.file(100, 5, "socket:[12]", "pos:\t0\ndrm-client-id:\t7\n");
  Clients clients(100, proc.root());
  clients.find_owners({7});
  CHECK(clients.find(7)->owner == Clients::Owner::unknown);
}

TEST_CASE("a submission by a process sets the owner of its client") {
  const Proc proc;
  Clients clients(100, proc.root());
  clients.learn(0, {.pid = 100});  // client 0 means unknown
  CHECK_FALSE(clients.find(0));
  clients.learn(7, {.pid = 103});
  CHECK(clients.find(7)->process.pid == 103);
  clients.learn(7, {.pid = 104});  // process 104 is a child that has inherited the client
  CHECK(clients.find(7)->process.pid == 103);
}

TEST_CASE("the search for a client's owner ends at cyclic parents and at missing status files") {
  const Proc proc;
  proc.process(100, 1);
  proc.process(500, 501);
  proc.process(501, 500);
  proc.card(500, 3, 7);
  std::filesystem::create_directories(proc.root() + "/502/fd");
  std::filesystem::create_symlink("/dev/dri/card0", proc.root() + "/502/fd/3");  // this open file has no fdinfo
  Clients clients(100, proc.root());
  clients.find_owners({7});
  CHECK(clients.find(7)->owner == Clients::Owner::other);
}

TEST_CASE("the number of remembered clients is limited") {
  Clients clients(100, "/nonexistent");
  for (uint64_t client = 1; client <= Clients::kMaxClients; ++client) {
    clients.learn(client, {.pid = 100});
  }
  CHECK(clients.find(1));
  clients.learn(Clients::kMaxClients + 1, {.pid = 100});
  CHECK_FALSE(clients.find(1));
  CHECK(clients.find(Clients::kMaxClients + 1));
}
