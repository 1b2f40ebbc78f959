#include "backend/drm/stalls/stall_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "backend/drm/stalls/xe_uapi.h"
#include "base/files/safe_open.h"
#include "base/text/numbers.h"
#include "base/unique_fd.h"

namespace gpuprof::backend::drm {
namespace {

constexpr size_t kMaxAnswer = 65536;  // bytes of the answer to a query, which usually has a few hundred
constexpr size_t kMaxGts = 64;
constexpr size_t kMaxRates = 64;
constexpr size_t kMaxRecordBytes = 4096;
constexpr size_t kMaxCards = 64;

constexpr const char* kNoInterface =
    "EU stall sampling by the kernel needs Linux 6.15 or later, and a GPU from Ponte Vecchio or Xe2 on; programs that "
    "use Level Zero can be sampled without it: --backend level_zero --stalls";

// Returns `count` elements of type T from offset `at`, or nullopt if the bytes are too few.
template <typename T>
std::optional<std::vector<T>> list_at(std::span<const std::byte> bytes, size_t at, uint64_t count) {
  if (at > bytes.size() || count > (bytes.size() - at) / sizeof(T)) {
    return std::nullopt;
  }
  std::vector<T> list(count);
  if (count > 0) {
    std::memcpy(list.data(), bytes.data() + at, count * sizeof(T));
  }
  return list;
}

Error nonsense(const char* what) {
  return {std::string("xe's answer about ") + what + " is invalid", "please report this with the kernel's version"};
}

// Returns the answer to a query. If the query fails, returns an empty vector, and errno says why.
std::vector<std::byte> ask(int card, uint32_t query) {
  xe::DeviceQuery asked{.query = query};
  if (::ioctl(card, xe::kIoctlQuery, &asked) != 0) {
    return {};
  }
  if (asked.size == 0 || asked.size > kMaxAnswer) {
    errno = EPROTO;
    return {};
  }
  std::vector<std::byte> answer(asked.size);
  asked.data = reinterpret_cast<uint64_t>(answer.data());
  if (::ioctl(card, xe::kIoctlQuery, &asked) != 0) {
    return {};
  }
  return answer;
}

class XeStallStream final : public StallStream {
 public:
  explicit XeStallStream(UniqueFd stream) : stream_(std::move(stream)) {}

  Read read(std::span<std::byte> into) override {
    const ssize_t bytes = ::read(stream_.get(), into.data(), into.size());
    if (bytes > 0) {
      return {Outcome::data, static_cast<size_t>(bytes), 0};
    }
    switch (bytes == 0 ? EAGAIN : errno) {
      case EAGAIN:
      case EINTR:
        return {};
      case EIO:
        return {Outcome::dropped, 0, 0};
      case ENODEV:
        return {Outcome::lost, 0, 0};
      default:
        return {Outcome::failed, 0, errno};
    }
  }

 private:
  UniqueFd stream_;
};

class XeStallDevices final : public StallDevices {
 public:
  explicit XeStallDevices(std::string root) : root_(std::move(root)) {}

  Result<std::vector<StallGt>> find() override {
    std::vector<StallGt> all;
    std::optional<Error> why;
    for (const Card& card : cards()) {
      auto gts = gts_of(card);
      if (!gts) {
        why = gts.error();
        continue;
      }
      all.insert(all.end(), gts->begin(), gts->end());
    }
    if (!all.empty()) {
      return all;
    }
    return why ? Result<std::vector<StallGt>>(*why) : all;
  }

  Result<std::unique_ptr<StallStream>> open(const StallGt& gt, uint64_t rate) override {
    const UniqueFd card = open_device(gt.node);
    if (!card) {
      return failure("cannot open " + gt.node, errno);
    }
    xe::SetProperty wait{.property = xe::kPropertyWaitReports, .value = 1};
    xe::SetProperty cycles{.next = reinterpret_cast<uint64_t>(&wait), .property = xe::kPropertyRate, .value = rate};
    xe::SetProperty which{.next = reinterpret_cast<uint64_t>(&cycles), .property = xe::kPropertyGt, .value = gt.gt};
    xe::Observation wanted{
        .type = xe::kObserveEuStalls, .operation = xe::kOpenStream, .parameter = reinterpret_cast<uint64_t>(&which)};
    UniqueFd stream(::ioctl(card.get(), xe::kIoctlObserve, &wanted));
    if (!stream) {
      return failure("cannot sample stalls of " + gt.text(), errno);
    }
    const int flags = ::fcntl(stream.get(), F_GETFL);
    if (flags < 0 || ::fcntl(stream.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(stream.get(), F_SETFD, FD_CLOEXEC) != 0 || ::ioctl(stream.get(), xe::kIoctlEnable, 0) != 0) {
      return failure("cannot sample stalls of " + gt.text(), errno);
    }
    return std::unique_ptr<StallStream>(std::make_unique<XeStallStream>(std::move(stream)));
  }

 private:
  struct Card {
    std::string bus;
    std::string node;
  };

  [[nodiscard]] std::vector<Card> cards() const {
    std::vector<Card> found;
    std::error_code error;
    std::filesystem::directory_iterator entries(root_ + "/sys/class/drm", error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      const std::string name = entries->path().filename().string();
      std::error_code ignored;
      const auto device = entries->path() / "device";
      if (name.starts_with("renderD") && found.size() < kMaxCards &&
          std::filesystem::read_symlink(device / "driver", ignored).filename() == "xe") {
        found.push_back(
            {std::filesystem::read_symlink(device, ignored).filename().string(), root_ + "/dev/dri/" + name});
      }
    }
    std::sort(found.begin(), found.end(), [](const Card& a, const Card& b) { return a.node < b.node; });
    return found;
  }

  static Result<std::vector<StallGt>> gts_of(const Card& card) {
    const UniqueFd file = open_device(card.node);
    if (!file) {
      return failure("cannot open " + card.node, errno);
    }
    const auto gt_list = ask(file.get(), xe::kQueryGtList);
    const auto eu_stall = gt_list.empty() ? gt_list : ask(file.get(), xe::kQueryEuStall);
    if (eu_stall.empty()) {
      return Error{"the GPU " + card.bus + " has no EU stall sampling: " + std::strerror(errno), kNoInterface};
    }
    auto gts = stall_gts(gt_list, eu_stall);
    if (gts) {
      for (StallGt& gt : *gts) {
        gt.bus = card.bus;
        gt.node = card.node;
      }
    }
    return gts;
  }

  static Error failure(const std::string& what, int error) {
    const std::string message = what + ": " + std::strerror(error);
    switch (error) {
      case EBUSY:
        return {message, "another program samples this GPU: end it, and record again"};
      case EACCES:
      case EPERM:
        return {message, "run gpuprof as root, or `sysctl dev.xe.observation_paranoid=0`"};
      default:
        return {message, kNoInterface};
    }
  }

  std::string root_;
};

}  // namespace

Result<std::vector<StallGt>> stall_gts(std::span<const std::byte> gt_list, std::span<const std::byte> eu_stall) {
  const auto head = list_at<xe::GtList>(gt_list, 0, 1);
  const auto gts = head && head->front().count <= kMaxGts
                       ? list_at<xe::Gt>(gt_list, sizeof(xe::GtList), head->front().count)
                       : std::nullopt;
  if (!gts) {
    return nonsense("its GTs");
  }
  const auto stalls = list_at<xe::EuStall>(eu_stall, 0, 1);
  const auto rates = stalls && stalls->front().rates <= kMaxRates
                         ? list_at<uint64_t>(eu_stall, sizeof(xe::EuStall), stalls->front().rates)
                         : std::nullopt;
  if (!rates || rates->empty() || (stalls->front().capabilities & xe::kEuStallBase) == 0) {
    return nonsense("EU stall sampling");
  }
  std::vector<StallGt> found;
  for (const xe::Gt& gt : *gts) {
    const StallLayout layout = stall_layout(gt.version);
    if (gt.type != xe::kGtMain) {
      continue;
    }
    if (stalls->front().record_bytes < least_record_bytes(layout) || stalls->front().record_bytes > kMaxRecordBytes) {
      return nonsense("records of EU stalls");
    }
    found.push_back({.bus = {},
                     .node = {},
                     .gt = gt.id,
                     .layout = layout,
                     .record_bytes = static_cast<size_t>(stalls->front().record_bytes),
                     .rates = *rates});
  }
  return found;
}

uint64_t choose_rate(std::span<const uint64_t> rates, uint64_t wanted) {
  if (wanted == 0) {
    return *std::max_element(rates.begin(), rates.end());
  }
  const auto distance = [wanted](uint64_t rate) { return rate > wanted ? rate - wanted : wanted - rate; };
  return *std::min_element(rates.begin(), rates.end(),
                           [&](uint64_t a, uint64_t b) { return distance(a) < distance(b); });
}

std::string stall_text(StallDevices& devices) {
  const auto gts = devices.find();
  if (!gts) {
    return "no EU stalls: " + gts.error().message;
  }
  return gts->empty() ? "" : "EU stalls of " + counted_text(gts->size(), "GT");
}

std::unique_ptr<StallDevices> make_xe_stall_devices(std::string root) {
  return std::make_unique<XeStallDevices>(std::move(root));
}

}  // namespace gpuprof::backend::drm
