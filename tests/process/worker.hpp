#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/session.hpp>

#include <memory>
#include <string>

namespace holdfast::process {

/// Where one test keeps its store, its page and its history.
struct place {
  place(std::string directory, std::string store, std::string patient)
      : root(std::move(directory)), url(std::move(store)), patient_url(std::move(patient)) {}

  std::string root;
  std::string url;          ///< For any ttl.
  std::string patient_url;  ///< The same store, whose servers may take their time.
  std::string store_path() const { return root + "/store"; }  ///< Of the embedded engine.
  std::string run_path() const { return root + "/run"; }      ///< Of the engines with servers.
  std::string state_path() const { return root + "/state"; }
  std::string page() const { return root + "/page"; }
  std::string history() const { return root + "/history"; }
};

/// Opens a session, trying for 10 s while the store is unavailable, or throws with the error's
/// text. With a ttl of an hour it has the patient URL.
session join(const place& at, duration ttl, std::shared_ptr<observer> told = {});

/// Takes and gives back `name` until page::stop is set, opening a new session whenever one ends.
/// Writes to the page only right after a check; an exit code that is not 0 is a failure.
int work(const place& at, const std::string& name, duration ttl);

/// Ends with 0 when the store shows no session and no lock, and no life file is left.
int look_for_leftovers(const place& at);

}  // namespace holdfast::process
