#include "cresset/dist/store/etcd/http.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>

namespace cresset::distributed::etcd {

namespace {

constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kLongestAnswer = size_t{1} << 30;

struct Answer {
  std::string text;
  size_t line = 0;  // where the line begins that has not ended
  const OnLine* on_line = nullptr;
  bool ended = false;  // by on_line
};

size_t take_bytes(char* data, size_t size, size_t count, void* to) {
  auto& answer = *static_cast<Answer*>(to);
  if (answer.text.size() + size * count > kLongestAnswer) return 0;
  answer.text.append(data, size * count);
  if (!*answer.on_line) return size * count;
  for (size_t end = answer.text.find('\n', answer.line); end != std::string::npos; end = answer.text.find('\n', answer.line)) {
    const std::string line = answer.text.substr(answer.line, end - answer.line);
    answer.line = end + 1;
    if ((*answer.on_line)(line)) continue;
    answer.ended = true;
    return 0;
  }
  return size * count;
}

}  // namespace

Http::Http(const std::string& endpoints) : process_(getpid()) {
  static const CURLcode begun = curl_global_init(CURL_GLOBAL_DEFAULT);
  CRESSET_CHECK_AS(DistNetworkError, begun == CURLE_OK, "etcd: libcurl does not begin: ", curl_easy_strerror(begun));
  for (size_t at = 0; at <= endpoints.size();) {
    const size_t comma = std::min(endpoints.find(',', at), endpoints.size());
    std::string one = endpoints.substr(at, comma - at);
    while (!one.empty() && one.back() == '/') one.pop_back();
    if (!one.empty()) endpoints_.push_back(one.find("://") == std::string::npos ? "http://" + one : one);
    at = comma + 1;
  }
  CRESSET_CHECK_VALUE(!endpoints_.empty(), "etcd: expected an endpoint like http://host:2379, got '", endpoints, "'");
}
Http::~Http() {
  if (getpid() != process_) return;
  for (void* handle : idle_) curl_easy_cleanup(handle);
}

void* Http::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (getpid() != process_) idle_.clear();  // after a fork they are the other process's
  process_ = getpid();
  if (idle_.empty()) return curl_easy_init();
  void* const handle = idle_.back();
  idle_.pop_back();
  return handle;
}
void Http::give(void* handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(handle);
}

std::string Http::post(const std::string& path, const std::string& body, Deadline deadline, const OnLine& on_line) {
  CURL* const handle = take();
  CRESSET_CHECK_AS(DistNetworkError, handle, "etcd: libcurl has no memory for a connection");
  curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
  size_t first = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    first = best_;
  }
  std::string reason;
  CURLcode code = CURLE_OK;
  for (size_t tried = 0; tried < endpoints_.size(); tried++) {
    const size_t number = (first + tried) % endpoints_.size();
    const std::string url = endpoints_[number] + path;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const long time = std::max<long>(static_cast<long>(left.count()), 1);
    Answer answer;
    answer.on_line = &on_line;
    char message[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, time);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, std::min<long>(time, 5000));
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message);
    code = curl_easy_perform(handle);
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    const bool late = on_line && code == CURLE_OPERATION_TIMEDOUT && status == 200;
    if (code == CURLE_OK || answer.ended || late) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        best_ = number;
      }
      curl_slist_free_all(headers);
      give(handle);
      CRESSET_CHECK_AS(DistNetworkError, status == 200, "etcd: ", url, " answers ", status, ": ", answer.text.substr(0, 300));
      return std::move(answer.text);
    }
    reason = str(url, ": ", *message ? message : curl_easy_strerror(code));
    if (code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST) break;
  }
  curl_slist_free_all(headers);
  curl_easy_cleanup(handle);
  if (code == CURLE_OPERATION_TIMEDOUT) throw DistTimeoutError("etcd: " + reason);
  throw DistNetworkError("etcd: " + reason);
}

std::string Http::own_host(Deadline deadline) {
  post("/v3/kv/range", R"({"key":"AA=="})", deadline);
  CURL* const handle = take();
  const char* address = nullptr;
  curl_easy_getinfo(handle, CURLINFO_LOCAL_IP, &address);
  const std::string host = address && *address ? address : "127.0.0.1";
  give(handle);
  return host;
}

std::string base64(const std::string& bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; j++) three = three << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; j++) text += j <= count ? kDigits[three >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  uint32_t held = 0;
  int bits = 0;
  size_t end = text.size();
  while (end > 0 && text[end - 1] == '=') end--;
  for (size_t i = 0; i < end; i++) {
    const char* const at = std::char_traits<char>::find(kDigits, 64, text[i]);
    CRESSET_CHECK_AS(DistNetworkError, at, "etcd: an answer holds no base64");
    held = held << 6 | static_cast<uint32_t>(at - kDigits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  return bytes;
}

}  // namespace cresset::distributed::etcd
