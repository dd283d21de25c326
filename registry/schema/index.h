// Where the subschemas of a document lie, what they are called, and what a `$ref` in it means.
// Nothing outside the document is ever looked at.
#ifndef TOOLRACK_REGISTRY_SCHEMA_INDEX_H_
#define TOOLRACK_REGISTRY_SCHEMA_INDEX_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/json.h"
#include "registry/schema/keywords.h"

namespace toolrack {

// `token` as one step of a JSON Pointer (RFC 6901), slash included.
std::string PointerStep(absl::string_view token);

class SchemaIndex {
 public:
  // A fault in a name (`$id`, `$anchor` …): the message, by the pointer of the keyword.
  struct Fault {
    std::string pointer;
    std::string message;
  };

  // `document` must outlive the index.
  SchemaIndex(const Json& document, Dialect dialect);

  const std::vector<Fault>& faults() const { return faults_; }

  // The JSON Pointer of a subschema.
  const std::string& PointerOf(const Json* schema) const { return places_.at(schema).pointer; }

  // What `reference`, written in the subschema `from`, means. The error says why it means nothing.
  absl::StatusOr<const Json*> Resolve(const Json* from, absl::string_view reference);
  // The same for `$dynamicRef` and `$recursiveRef`; UNIMPLEMENTED when it depends on the way by
  // which the subschema is reached.
  absl::StatusOr<const Json*> ResolveDynamic(const Json* from, absl::string_view reference);
  absl::StatusOr<const Json*> ResolveRecursive(const Json* from, absl::string_view reference);

 private:
  struct Place {
    std::string pointer;
    size_t resource;
  };
  // A part of the document with its own base URI.
  struct Resource {
    std::string uri;
    const Json* root;
  };

  void Walk(const Json& schema, std::string pointer, size_t resource, bool named);
  void WalkKeyword(const Keyword& keyword, const Json& value, const std::string& pointer,
                   size_t resource, bool named);
  size_t Identify(const Json& schema, const std::string& pointer, size_t resource);
  void AddAnchor(const Json& schema, const Json& name, const std::string& pointer, size_t resource,
                 bool dynamic);
  absl::StatusOr<const Json*> FollowPointer(const Resource& resource, absl::string_view pointer);
  bool Before(Dialect dialect) const { return dialect_ < dialect; }

  const Dialect dialect_;
  std::vector<Resource> resources_;
  std::map<std::string, size_t> by_uri_;
  std::map<std::pair<size_t, std::string>, const Json*> anchors_;
  std::map<std::string, size_t> dynamic_anchors_;  // how often each name is given
  absl::flat_hash_map<const Json*, std::string> dynamic_names_;
  absl::flat_hash_map<const Json*, Place> places_;
  std::vector<Fault> faults_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_INDEX_H_
