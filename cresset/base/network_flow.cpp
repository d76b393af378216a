#include "cresset/base/util/network_flow.h"

#include <algorithm>
#include <map>

namespace cresset {

namespace {

struct Arc {
  size_t to;
  int64_t rest;
  size_t back;  // of the opposite arc, among those of `to`
};

struct Residual {
  std::vector<std::vector<Arc>> arcs;
  std::vector<int> level;
  std::vector<size_t> next;

  bool set_levels(size_t source, size_t sink) {
    level.assign(arcs.size(), -1);
    level[source] = 0;
    std::vector<size_t> queue{source};
    for (size_t i = 0; i < queue.size(); i++)
      for (const Arc& a : arcs[queue[i]])
        if (a.rest > 0 && level[a.to] < 0) {
          level[a.to] = level[queue[i]] + 1;
          queue.push_back(a.to);
        }
    return level[sink] >= 0;
  }

  // Pushes along one shortest path; 0 when there is none left.
  int64_t push(size_t source, size_t sink) {
    std::vector<size_t> path{source};
    while (path.back() != sink) {
      const size_t at = path.back();
      while (next[at] < arcs[at].size() && !(arcs[at][next[at]].rest > 0 && level[arcs[at][next[at]].to] == level[at] + 1)) next[at]++;
      if (next[at] < arcs[at].size()) {
        path.push_back(arcs[at][next[at]].to);
        continue;
      }
      if (at == source) return 0;
      path.pop_back();
      next[path.back()]++;
    }
    int64_t most = NetworkFlowGraph::INF;
    for (size_t i = 0; i + 1 < path.size(); i++) most = std::min(most, arcs[path[i]][next[path[i]]].rest);
    for (size_t i = 0; i + 1 < path.size(); i++) {
      Arc& a = arcs[path[i]][next[path[i]]];
      a.rest -= most;
      arcs[a.to][a.back].rest += most;
    }
    return most;
  }
};

}  // namespace

MinCutStatus NetworkFlowGraph::add_edge(const std::string& source, const std::string& dest, int64_t capacity) {
  if (capacity < 0) return MinCutStatus::INVALID;
  edges.push_back({source, dest, capacity});
  return MinCutStatus::SUCCESS;
}

MinCutResult NetworkFlowGraph::minimum_cut(const std::string& source, const std::string& sink) const {
  std::map<std::string, size_t> ids;
  std::vector<std::string> names;
  const auto id_of = [&](const std::string& name) {
    const auto [where, is_new] = ids.emplace(name, names.size());
    if (is_new) names.push_back(name);
    return where->second;
  };
  std::map<std::pair<size_t, size_t>, int64_t> capacities;
  MinCutResult result;
  for (const Edge& e : edges) {
    int64_t& c = capacities[{id_of(e.source), id_of(e.dest)}];
    // Edges without a bound stay without one; others that add up to it are too many.
    if (c == INF || e.capacity == INF) {
      c = INF;
      continue;
    }
    if (__builtin_add_overflow(c, e.capacity, &c) || c == INF) {
      result.status = MinCutStatus::OVERFLOW_INF;
      return result;
    }
  }
  if (source == sink || !ids.count(source) || !ids.count(sink)) return result;
  Residual graph;
  graph.arcs.resize(names.size());
  for (const auto& [ends, capacity] : capacities) {
    const auto [from, to] = ends;
    graph.arcs[from].push_back({to, capacity, graph.arcs[to].size() + (from == to)});
    graph.arcs[to].push_back({from, 0, graph.arcs[from].size() - 1});
  }
  const size_t s = ids[source], t = ids[sink];
  // A way without any bound.
  {
    std::vector<bool> seen(names.size());
    std::vector<size_t> queue{s};
    seen[s] = true;
    for (size_t i = 0; i < queue.size(); i++)
      for (const Arc& a : graph.arcs[queue[i]])
        if (a.rest == INF && !seen[a.to]) {
          seen[a.to] = true;
          queue.push_back(a.to);
        }
    if (seen[t]) {
      result.status = MinCutStatus::UNBOUNDED;
      return result;
    }
  }
  while (graph.set_levels(s, t)) {
    graph.next.assign(names.size(), 0);
    while (const int64_t flow = graph.push(s, t))
      if (__builtin_add_overflow(result.max_flow, flow, &result.max_flow)) {
        result.status = MinCutStatus::OVERFLOW_INF;
        return result;
      }
  }
  std::vector<bool> reaches_sink(names.size());
  std::vector<size_t> queue{t};
  reaches_sink[t] = true;
  for (size_t i = 0; i < queue.size(); i++)
    for (const Arc& a : graph.arcs[queue[i]])
      if (graph.arcs[a.to][a.back].rest > 0 && !reaches_sink[a.to]) {
        reaches_sink[a.to] = true;
        queue.push_back(a.to);
      }
  for (size_t i = 0; i < names.size(); i++) (reaches_sink[i] ? result.unreachable : result.reachable).push_back(names[i]);
  result.status = MinCutStatus::SUCCESS;
  return result;
}

}  // namespace cresset
