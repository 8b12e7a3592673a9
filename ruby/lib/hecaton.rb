# Hecaton: many HTTP requests at once, fast and without surprises.
module Hecaton
end

# In this order, because some need others while they are loaded.
%w[
  version clock library settings native fibers headers attempt who_answered record outcome patterns content_type reasons
  deprecation links any_response response error server_sent_events stream_reading stream request pending token
  request_log body_fiber body_source content mime generated_headers request_builder cookies events interception
  response_builder retry_predicate features deferral verbs queueing guest batch sending many engine_settings
  derivation part_file download
  times client_key suggestion client shared_client
].each { |name| require_relative "hecaton/#{name}" }

# Loads the adapter for WebMock if that is there already; else it is loaded when it has come. Production has none.
Hecaton::Interception.active?
