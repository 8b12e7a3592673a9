# Hecaton: many HTTP requests at once, fast and without surprises.
module Hecaton
end

# In any order, because each file requires what it needs while it is loaded.
%w[
  any_response attempt batch body_fiber body_source client client_key clock content content_type cookies deferral
  deprecation derivation download engine_settings error events features fibers generated_headers guest headers
  interception library links many mime native outcome part_file patterns pending queueing reasons record request
  request_builder request_log response response_builder retry_predicate sending server_sent_events settings
  shared_client stream stream_reading suggestion times token verbs version who_answered
].each { |name| require_relative "hecaton/#{name}" }

# Loads the adapter for WebMock if that is there already; else it is loaded when it has come. Production has none.
Hecaton::Interception.active?
