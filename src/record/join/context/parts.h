// Groups references to the parts that both WorkJoin and SampleJoin use.
#pragma once

namespace gpuprof::record {

class Attribution;
class KernelTimes;
class Launches;
class Producers;
class Rows;
class Windows;

struct JoinParts {
  Producers& producers;
  Attribution& attribution;
  Launches& launches;
  Rows& rows;
  const Windows& windows;
  KernelTimes& kernel_times;
};

}  // namespace gpuprof::record
