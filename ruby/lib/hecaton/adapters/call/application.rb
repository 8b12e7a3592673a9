# The name of the calling application, when the program sets none.

# Called for each connection that is made.
module Hecaton::Call::Application
  module_function

  # String or nil: the configuration's, APP_NAME, or the Rails application's name with dashes.
  def name = Hecaton::Call.configuration.app_name || ENV["APP_NAME"] || rails_name

  # String or nil: the configuration's, RACK_ENV, or Rails.env.
  def env = Hecaton::Call.configuration.app_env || ENV["RACK_ENV"] || (::Rails.env.to_s if rails?(:env))

  private_class_method def rails_name
    return unless rails?(:application) && ::Rails.application

    # "MyShop::Application" is "my-shop".
    name = ::Rails.application.class.name.delete_suffix("::Application")
    name.gsub("::", "/").gsub(/([A-Z]+)([A-Z][a-z])|([a-z\d])([A-Z])/) {
      "#{$1 || $3}-#{$2 || $4}"
    }.tr("_", "-").downcase
  end

  private_class_method def rails?(method) = defined?(::Rails) && ::Rails.respond_to?(method)
end
